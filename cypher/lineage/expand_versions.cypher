// name:    expand_versions
// does:    The chain of versions that a record belongs to, both ways, through nothing that the caller may not see.
// access:  read
// params:  identity STRING, includeDeleted BOOLEAN, tenantId STRING, tenants LIST<STRING>,
//          purpose STRING, grants LIST<STRING>, states LIST<STRING>
// literals: levels INTEGER
// returns: isTombstone BOOLEAN, withheld BOOLEAN, rows LIST<MAP>
// order:   none; place counts from the record that was asked for, older versions below 0
// bound:   one row; levels versions each way
// plan:    NodeUniqueIndexSeek · VarLengthExpand(Pruning,BFS,All)
MATCH (n:Identity {identity: $identity})
WHERE
  CASE WHEN n:Tombstone
    THEN EXISTS {
      (n)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
    }
    ELSE n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
      AND any(grant IN $grants WHERE grant IN n.permissions)
  END
CALL (n) {
  MATCH p = (n)-[:SUPERSEDES*1..$$levels]->(other)
  WHERE all(v IN nodes(p) WHERE
      CASE WHEN v:Tombstone
        THEN $includeDeleted AND EXISTS {
          (v)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
        }
        ELSE v.tenantId IN $tenants AND v.state IN $states AND $purpose IN v.purposes
          AND any(grant IN $grants WHERE grant IN v.permissions)
      END)
  WITH other, min(length(p)) AS distance
  RETURN collect({node: other, distance: distance}) AS older
}
CALL (n) {
  MATCH p = (n)<-[:SUPERSEDES*1..$$levels]-(other)
  WHERE all(v IN nodes(p) WHERE
      CASE WHEN v:Tombstone
        THEN $includeDeleted AND EXISTS {
          (v)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
        }
        ELSE v.tenantId IN $tenants AND v.state IN $states AND $purpose IN v.purposes
          AND any(grant IN $grants WHERE grant IN v.permissions)
      END)
  WITH other, min(length(p)) AS distance
  RETURN collect({node: other, distance: distance}) AS newer
}
WITH n, [{node: n, place: 0}] + [one IN older | {node: one.node, place: -one.distance}]
  + [one IN newer | {node: one.node, place: one.distance}] AS versions
CALL (versions) {
  UNWIND versions AS one
  WITH one.node AS node
  MATCH (node)-[:SUPERSEDES]-(m:Identity)
  WHERE m:Record OR $includeDeleted
  WITH
    CASE WHEN m:Tombstone
      THEN $includeDeleted AND EXISTS {
        (m)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
      }
      ELSE m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes
        AND any(grant IN $grants WHERE grant IN m.permissions)
    END AS shown
  RETURN count(CASE WHEN shown THEN null ELSE 1 END) > 0 AS withheld
}
RETURN n:Tombstone AS isTombstone, withheld, [one IN versions | {
  identity: one.node.identity, place: one.place, isTombstone: one.node:Tombstone, tenantId: one.node.tenantId,
  state: one.node.state, fenced: one.node.fence IS NOT NULL, purposes: one.node.purposes,
  permissions: one.node.permissions, class: one.node.class, kind: one.node.kind, observedAt: one.node.observedAt,
  expiresAt: one.node.expiresAt, envelope: one.node.envelope
}] AS rows
