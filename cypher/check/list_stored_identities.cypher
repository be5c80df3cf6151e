// name:    list_stored_identities
// does:    A page of everything with an identity as it is stored: labels, property names, and the values that have to be
//          of a closed list or repeat the envelope. Never content.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: pageLast STRING, page LIST<MAP>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
RETURN max(n.identity) AS pageLast, collect({stored: {
  identity: n.identity,
  isRecord: n:Record,
  isTombstone: n:Tombstone,
  propertyNames: keys(n),
  tenantId: n.tenantId,
  class: n.class,
  kind: n.kind,
  state: n.state,
  permissions: n.permissions,
  purposes: n.purposes,
  audience: n.audience,
  observedAt: n.observedAt,
  expiresAt: n.expiresAt,
  envelope: n.envelope,
  deletedAt: n.deletedAt,
  reasonCode: n.reasonCode,
  policyRef: n.policyRef
}}) AS page
