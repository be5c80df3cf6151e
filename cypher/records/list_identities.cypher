// name:    list_identities
// does:    What the graph knows of the given identities, records and tombstones alike; unknown ones are left out.
// access:  read
// params:  identities LIST<STRING>
// returns: known LIST<MAP>
// bound:   size(identities) entries
// plan:    NodeUniqueIndexSeek
UNWIND $identities AS wanted
MATCH (n:Identity {identity: wanted})
RETURN collect({
  identity: n.identity,
  isTombstone: n:Tombstone,
  deletedBy: CASE WHEN n:Tombstone THEN COLLECT {
    MATCH (n)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(q:Request)
    RETURN DISTINCT q.tenantId
  } ELSE [] END,
  fenced: n.fence IS NOT NULL,
  tenantId: n.tenantId,
  class: n.class,
  kind: n.kind,
  state: n.state,
  succeeded: EXISTS { (n)<-[:SUPERSEDES]-(:Record) },
  purposes: n.purposes,
  permissions: n.permissions,
  observedAt: n.observedAt,
  expiresAt: n.expiresAt,
  envelope: n.envelope
}) AS known
