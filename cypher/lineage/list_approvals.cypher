// name:    list_approvals
// does:    The approvals of this very record. One edge and no more: an approval approves no descendant.
// access:  read
// params:  identity STRING, includeDeleted BOOLEAN, tenantId STRING, tenants LIST<STRING>,
//          purpose STRING, grants LIST<STRING>, states LIST<STRING>
// returns: isTombstone BOOLEAN, withheld BOOLEAN, rows LIST<MAP>
// order:   none
// bound:   one row; the approvals of one record
// plan:    NodeUniqueIndexSeek
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
  MATCH (n)-[:APPROVED_BY]->(m:Identity)
  WITH DISTINCT m
  WITH m,
    CASE WHEN m:Tombstone
      THEN $includeDeleted AND EXISTS {
        (m)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
      }
      ELSE m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes
        AND any(grant IN $grants WHERE grant IN m.permissions)
    END AS shown
  RETURN
    count(CASE WHEN shown THEN null ELSE 1 END) > 0 AS withheld,
    collect(CASE WHEN shown THEN {
      identity: m.identity, isTombstone: m:Tombstone, tenantId: m.tenantId, state: m.state,
      fenced: m.fence IS NOT NULL, purposes: m.purposes, permissions: m.permissions
    } ELSE null END) AS rows
}
RETURN n:Tombstone AS isTombstone, withheld, rows
