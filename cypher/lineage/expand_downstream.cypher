// name:    expand_downstream
// does:    The derivatives of a record at any depth, each once at its shortest distance, through nothing that the
//          caller may not see; grouped by distance and kind. Whoever asks walks one level more than is
//          wanted (levels = depthMax + 1), to tell whether the depth limit cut anything off.
// access:  read
// params:  identity STRING, depthMax INTEGER, listed BOOLEAN, includeDeleted BOOLEAN,
//          tenantId STRING, tenants LIST<STRING>, purpose STRING, grants LIST<STRING>, states LIST<STRING>
// literals: levels INTEGER, edgeTypes TYPES
// returns: edges INTEGER, withheld BOOLEAN, cycle BOOLEAN, groups LIST<MAP>
// order:   none; identities within groups are sorted by whoever pages them
// bound:   one row; levels levels
// plan:    NodeUniqueIndexSeek · VarLengthExpand(Pruning,BFS,All)
MATCH (root:Identity {identity: $identity})
CALL (root) {
  MATCH p = (root)<-[:$$edgeTypes*1..$$levels]-(reached:Identity)
  WHERE all(n IN nodes(p) WHERE
    (n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
      AND any(permission IN n.permissions WHERE permission IN $grants))
    OR ($includeDeleted AND n:Tombstone AND EXISTS {
      (n)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
    }))
  WITH reached, min(length(p)) AS depth
  WITH depth, reached.kind AS kind, reached = root AS isRoot, collect(reached) AS nodes
  RETURN collect({depth: depth, kind: kind, isRoot: isRoot, nodes: nodes}) AS walked
}
WITH walked, [{depth: 0, nodes: [root]}] + [one IN walked WHERE one.depth <= $depthMax AND NOT one.isRoot] AS found
CALL (found) {
  UNWIND found AS one
  WITH one.nodes AS nodes, CASE WHEN one.depth < $depthMax THEN 1 ELSE 0 END AS within
  UNWIND nodes AS node
  MATCH (node)<-[step:$$edgeTypes]-(m:Identity)
  WHERE m:Record OR $includeDeleted
  WITH m, sum(within) AS steps
  RETURN sum(steps) AS drawn, count(m) AS neighbours
}
// Everything next to what was found was walked to, unless it is hidden; only then is it looked at one by one.
CALL (found, walked, neighbours) {
  UNWIND CASE WHEN neighbours > reduce(total = 0, one IN walked | total + size(one.nodes)) THEN found ELSE [] END AS one
  WITH one.nodes AS nodes, CASE WHEN one.depth < $depthMax THEN 1 ELSE 0 END AS within
  UNWIND nodes AS node
  MATCH (node)<-[step:$$edgeTypes]-(m:Identity)
  WHERE m:Record OR $includeDeleted
  WITH m, sum(within) AS steps
  WITH steps,
    CASE WHEN m:Tombstone
      THEN $includeDeleted AND EXISTS {
        (m)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
      }
      ELSE m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes
        AND any(grant IN $grants WHERE grant IN m.permissions)
    END AS shown
  WHERE shown IS NULL OR NOT shown
  RETURN count(*) > 0 AS withheld, sum(steps) AS hidden
}
RETURN
  drawn - hidden AS edges, withheld, any(one IN walked WHERE one.isRoot) AS cycle,
  [one IN walked WHERE NOT one.isRoot | {
    depth: one.depth, kind: one.kind, total: size(one.nodes),
    identities: CASE WHEN $listed AND one.depth <= $depthMax THEN [node IN one.nodes | node.identity] ELSE [] END
  }] AS groups
