// name:    expand_downstream
// does:    The derivatives of a record at any depth, each once at its shortest distance, through nothing that the
//          caller may not see; grouped by distance and kind, perhaps in several groups each. Whoever asks walks
//          one level more than is wanted (levels = depthMax + 1), to tell whether the depth limit cut anything off.
//          Where no more than rowsMax are reached, it also answers what list_steps would say of them all, to spare a
//          second round trip.
// access:  read
// params:  identity STRING, depthMax INTEGER, listed BOOLEAN, includeDeleted BOOLEAN, rowsMax INTEGER, followed LIST<STRING>,
//          tenantId STRING, tenants LIST<STRING>, purpose STRING, grants LIST<STRING>, states LIST<STRING>
// literals: levels INTEGER, edgeTypes TYPES
// returns: isTombstone BOOLEAN, edges INTEGER, withheld BOOLEAN, cycle BOOLEAN, groups LIST<MAP>, rows LIST<MAP>,
//          nearer LIST<MAP>, stops LIST<STRING>
// order:   none; identities within groups are sorted by whoever pages them
// bound:   one row; levels levels, rowsMax entries in rows and their own neighbours
// plan:    NodeUniqueIndexSeek · VarLengthExpand(Pruning,BFS,All)
MATCH (root:Identity {identity: $identity})
WHERE
  CASE WHEN root:Tombstone
    THEN EXISTS {
      (root)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
    }
    ELSE root.tenantId IN $tenants AND root.state IN $states AND $purpose IN root.purposes
      AND any(grant IN $grants WHERE grant IN root.permissions)
  END
// Everything, grouped by audience: where each of these is one that the caller belongs to, nothing has to be left out.
CALL (root) {
  MATCH p = (root)<-[:$$edgeTypes*1..$$levels]-(reached)
  WITH reached, min(length(p)) AS depth
  WITH depth, reached.audience AS audience, reached = root AS isRoot, collect(reached) AS nodes
  RETURN collect({
    depth: depth, kind: nodes[0].kind, isRoot: isRoot, nodes: nodes,
    isOpen: coalesce(audience IS NOT NULL AND nodes[0].tenantId IN $tenants AND $purpose IN nodes[0].purposes
      AND any(permission IN nodes[0].permissions WHERE permission IN $grants), false)
  }) AS everything
}
WITH root, everything, all(one IN everything WHERE one.isOpen) AS isOpen
CALL (root, isOpen) {
  WITH root, isOpen
  WHERE NOT isOpen
  MATCH p = (root)<-[:$$edgeTypes*1..$$levels]-(reached)
  WHERE all(n IN nodes(p) WHERE
    (n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
      AND any(permission IN n.permissions WHERE permission IN $grants))
    OR ($includeDeleted AND n:Tombstone AND EXISTS {
      (n)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
    }))
  WITH reached, min(length(p)) AS depth
  WITH depth, reached.kind AS kind, reached = root AS isRoot, collect(reached) AS nodes
  RETURN collect({depth: depth, kind: kind, isRoot: isRoot, nodes: nodes}) AS seen
}
WITH root, isOpen, CASE WHEN isOpen THEN everything ELSE seen END AS walked
WITH root, isOpen, walked,
  [{depth: 0, nodes: [root]}] + [one IN walked WHERE one.depth <= $depthMax AND NOT one.isRoot] AS found
CALL (found, isOpen) {
  UNWIND CASE WHEN isOpen THEN found ELSE [] END AS one
  WITH one.nodes AS nodes
  WHERE one.depth < $depthMax
  UNWIND nodes AS node
  // One pass over the edges of a node: a list of types in the pattern would make one for each type.
  MATCH (node)<-[step]-()
  WHERE type(step) IN $followed
  RETURN count(step) AS drawnOpen
}
CALL (found, isOpen) {
  UNWIND CASE WHEN isOpen THEN [] ELSE found END AS one
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
// What is shown of the records, where they are no more than a page.
CALL (walked) {
  WITH walked, reduce(total = 0, one IN walked | total + size(one.nodes)) AS reachedTotal
  UNWIND CASE WHEN reachedTotal <= $rowsMax THEN walked ELSE [] END AS one
  WITH one
  WHERE one.depth <= $depthMax AND NOT one.isRoot
  UNWIND one.nodes AS n
  RETURN collect(n) AS page
}
CALL (page) {
  UNWIND page AS n
  MATCH (n)-[step:$$edgeTypes]->(m:Identity)
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
CALL (page, withheld) {
  UNWIND CASE WHEN withheld THEN page ELSE [] END AS n
  MATCH (n)<-[step:$$edgeTypes]-(m:Identity)
  WHERE m:Record OR $includeDeleted
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
  root:Tombstone AS isTombstone, drawnOpen + drawn - hidden AS edges, withheld,
  any(one IN walked WHERE one.isRoot) AS cycle,
  [one IN walked WHERE NOT one.isRoot | {
    depth: one.depth, kind: one.kind, total: size(one.nodes),
    identities: CASE WHEN $listed AND one.depth <= $depthMax THEN [node IN one.nodes | node.identity] ELSE [] END
  }] AS groups,
  [n IN page | {
    identity: n.identity, isTombstone: n:Tombstone, tenantId: n.tenantId, state: n.state, purposes: n.purposes,
    permissions: n.permissions, class: n.class, kind: n.kind, fenced: n.fence IS NOT NULL
  }] AS rows,
  nearer, stops
