// name:    list_steps_downstream
// does:    What the downstream walk shows of the given records: how they are joined to their sources, grouped
//          by those, and which of them have derivatives that the caller may not see. Who may see what is judged again.
// access:  read
// params:  identities LIST<STRING>, edgeTypes LIST<STRING>, lookBeyond BOOLEAN, includeDeleted BOOLEAN,
//          tenantId STRING, tenants LIST<STRING>, purpose STRING, grants LIST<STRING>, states LIST<STRING>
// returns: rows LIST<MAP>, nearer LIST<MAP>, stops LIST<STRING>
// order:   none
// bound:   one row; size(identities) entries in rows, and their own neighbours
// plan:    NodeUniqueIndexSeek
UNWIND $identities AS wanted
MATCH (n:Identity {identity: wanted})
WHERE
  CASE WHEN n:Tombstone
    THEN $includeDeleted AND EXISTS {
      (n)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
    }
    ELSE n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
      AND any(grant IN $grants WHERE grant IN n.permissions)
  END
WITH collect(n) AS found
CALL (found) {
  UNWIND found AS n
  MATCH (n)-[step]->(m:Identity)
  WHERE type(step) IN $edgeTypes
  WITH m, collect(n.identity) AS farther, collect(type(step)) AS edges
  WHERE
    CASE WHEN m:Tombstone
      THEN $includeDeleted AND EXISTS {
        (m)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
      }
      ELSE m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes
        AND any(grant IN $grants WHERE grant IN m.permissions)
    END
  RETURN collect({
    identity: m.identity, isTombstone: m:Tombstone, tenantId: m.tenantId, state: m.state, purposes: m.purposes,
    permissions: m.permissions, farther: farther, edges: edges
  }) AS nearer
}
CALL (found) {
  UNWIND CASE WHEN $lookBeyond THEN found ELSE [] END AS n
  MATCH (n)<-[step]-(m:Identity)
  WHERE type(step) IN $edgeTypes AND (m:Record OR $includeDeleted)
  WITH n,
    CASE WHEN m:Tombstone
      THEN $includeDeleted AND EXISTS {
        (m)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
      }
      ELSE m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes
        AND any(grant IN $grants WHERE grant IN m.permissions)
    END AS shown
  WHERE shown IS NULL OR NOT shown
  RETURN collect(DISTINCT n.identity) AS stops
}
RETURN
  [n IN found | {
    identity: n.identity, isTombstone: n:Tombstone, tenantId: n.tenantId, state: n.state, purposes: n.purposes,
    permissions: n.permissions, class: n.class, kind: n.kind, fenced: n.fence IS NOT NULL
  }] AS rows,
  nearer, stops
