// name:    expand_origins
// does:    The records upstream of a record, itself included, that were derived from nothing: its origins.
// access:  read
// params:  identity STRING, edgeTypes LIST<STRING>, rowsMax INTEGER, includeDeleted BOOLEAN, tenantId STRING,
//          tenants LIST<STRING>, purpose STRING, grants LIST<STRING>, states LIST<STRING>
// literals: levels INTEGER
// returns: isTombstone BOOLEAN, nodes INTEGER, edges INTEGER, deepest INTEGER, withheld BOOLEAN, cut BOOLEAN,
//          rows LIST<MAP>
// order:   rows by depth
// bound:   one row; rowsMax entries in rows
// plan:    NodeUniqueIndexSeek · VarLengthExpand(Pruning,BFS,All)
MATCH (target:Identity {identity: $identity})
WHERE
  CASE WHEN target:Tombstone
    THEN EXISTS {
      (target)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
    }
    ELSE target.tenantId IN $tenants AND target.state IN $states AND $purpose IN target.purposes
      AND any(grant IN $grants WHERE grant IN target.permissions)
  END
CALL (target) {
  MATCH p = (target)-[steps:
             OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM
             |PROJECTED_FROM|PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM
             *1..$$levels]->(reached)
  WHERE all(n IN nodes(p) WHERE
      CASE WHEN n:Tombstone
        THEN $includeDeleted AND EXISTS {
          (n)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
        }
        ELSE n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
          AND any(grant IN $grants WHERE grant IN n.permissions)
      END)
  WITH reached, min(length(p)) AS depth
  ORDER BY depth
  WITH collect({node: reached, depth: depth}) AS walked
  RETURN [{node: target, depth: 0}] + walked AS cone
}
CALL (cone) {
  // Each source is judged once, not once an edge.
  UNWIND cone AS one
  WITH one.node AS node
  MATCH (node)-[step]->(m:Identity)
  WHERE type(step) IN $edgeTypes
  WITH m, count(step) AS steps
  WITH steps,
    CASE WHEN m:Tombstone
      THEN $includeDeleted AND EXISTS {
        (m)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
      }
      ELSE m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes
        AND any(grant IN $grants WHERE grant IN m.permissions)
    END AS shown
  RETURN
    sum(CASE WHEN shown THEN steps ELSE 0 END) AS edges,
    count(CASE WHEN shown THEN null ELSE 1 END) > 0 AS withheld
}
WITH *, [one IN cone WHERE NOT EXISTS {
  WITH one
  WITH one.node AS node
  MATCH (node)-[step]->(:Identity)
  WHERE type(step) IN $edgeTypes
  RETURN 1
}] AS roots
RETURN
  target:Tombstone AS isTombstone, size(cone) - 1 AS nodes, edges,
  reduce(deepest = 0, one IN cone | CASE WHEN one.depth > deepest THEN one.depth ELSE deepest END) AS deepest,
  withheld, size(roots) > $rowsMax AS cut,
  [one IN roots[0..$rowsMax] | {
    identity: one.node.identity, depth: one.depth, isTombstone: one.node:Tombstone, tenantId: one.node.tenantId,
    state: one.node.state, fenced: one.node.fence IS NOT NULL, purposes: one.node.purposes,
    permissions: one.node.permissions, class: one.node.class, kind: one.node.kind,
    observedAt: one.node.observedAt, expiresAt: one.node.expiresAt, envelope: one.node.envelope
  }] AS rows
