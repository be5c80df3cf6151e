// name:    expand_upstream
// does:    The sources of a record at any depth, each once at its shortest distance, through nothing that the
//          caller may not see: a page of them by identity, how each is joined to what is nearer, and the
//          totals of the whole walk. One level more than asked is walked, to tell whether the depth limit cut
//          anything off.
// access:  read
// params:  identity STRING, edgeTypes LIST<STRING>, depthMax INTEGER, kinds LIST<STRING>, after STRING,
//          rowsMax INTEGER, grouped BOOLEAN, includeDeleted BOOLEAN, tenantId STRING, tenants LIST<STRING>,
//          purpose STRING, grants LIST<STRING>, states LIST<STRING>
// literals: levels INTEGER
// returns: nodes INTEGER, edges INTEGER, deepest INTEGER, deeper BOOLEAN, cycle BOOLEAN, withheld BOOLEAN,
//          groups LIST<MAP>, rows LIST<MAP>, nearer LIST<MAP>, stops LIST<STRING>
// order:   rows by identity
// bound:   one row; levels levels, rowsMax entries in rows; groups only if grouped
// plan:    NodeUniqueIndexSeek · VarLengthExpand(Pruning,BFS,All)
MATCH (root:Identity {identity: $identity})
CALL (root) {
  MATCH p = (root)-[steps:
             OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM
             |PROJECTED_FROM|PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM
             |SUPERSEDES|CONTRADICTS|BINDS|CONSUMED_BY|VERIFIES|AUTHORIZED_FOR|OMITS|RESOLVED_BY
             |ESCALATED_TO|PROV_USED|PROV_GENERATED_BY|PROV_INFORMED_BY|PROV_STARTED_BY|PROV_ENDED_BY
             |PROV_INVALIDATED_BY|PROV_ATTRIBUTED_TO|PROV_ASSOCIATED_WITH|PROV_ACTED_ON_BEHALF_OF
             |PROV_INFLUENCED_BY|PROV_SPECIALIZATION_OF|PROV_ALTERNATE_OF|PROV_HAD_MEMBER|PROV_MENTION_OF
             *1..$$levels]->(reached:Identity)
  WHERE all(step IN steps WHERE type(step) IN $edgeTypes)
    AND all(n IN nodes(p) WHERE
      CASE WHEN n:Tombstone
        THEN $includeDeleted AND EXISTS {
          (n)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId}) }
        ELSE n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
          AND any(grant IN $grants WHERE grant IN n.permissions)
      END)
  WITH reached, min(length(p)) AS depth
  ORDER BY reached.identity
  RETURN collect({node: reached, depth: depth}) AS walked
}
WITH root, walked, [one IN walked WHERE one.depth <= $depthMax AND one.node <> root] AS found
CALL (root, found) {
  // Edges of the walk, and whether it goes on into something hidden: each neighbour is judged once, not once an edge.
  UNWIND [{node: root, depth: 0}] + found AS one
  WITH one.node AS node, one.depth AS depth
  MATCH (node)-[step]->(m:Identity)
  WHERE type(step) IN $edgeTypes AND (m:Record OR $includeDeleted)
  WITH m, sum(CASE WHEN depth < $depthMax THEN 1 ELSE 0 END) AS steps
  WITH steps,
    CASE WHEN m:Tombstone
      THEN $includeDeleted AND EXISTS {
        (m)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId}) }
      ELSE m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes
        AND any(grant IN $grants WHERE grant IN m.permissions)
    END AS shown
  RETURN sum(CASE WHEN shown THEN steps ELSE 0 END) AS edges,
    count(CASE WHEN shown THEN null ELSE 1 END) > 0 AS withheld
}
CALL (found) {
  UNWIND CASE WHEN $grouped THEN found ELSE [] END AS one
  WITH one.depth AS depth, one.node.kind AS kind, count(*) AS total
  WHERE $kinds IS NULL OR kind IN $kinds
  RETURN collect({depth: depth, kind: kind, total: total}) AS groups
}
// A slice of the sorted list: a LIMIT here would account for the whole list in every row that it holds.
WITH *, CASE WHEN $rowsMax = 0 THEN [] ELSE
  [one IN found WHERE one.node.identity > $after AND ($kinds IS NULL OR one.node.kind IN $kinds)][0..$rowsMax]
END AS page
CALL (page) {
  UNWIND page AS one
  WITH one.node AS node
  MATCH (node)<-[step]-(m:Identity)
  WHERE type(step) IN $edgeTypes
  WITH m, collect({identity: node.identity, edge: type(step)}) AS steps
  RETURN collect({node: m, steps: steps}) AS near
}
CALL (root, found, near) {
  // Grouping finds the depths of the neighbours by hash; one that was not walked has none, and is left out.
  UNWIND CASE WHEN size(near) = 0 THEN [] ELSE
    [{node: root, depth: 0}] + found + [place IN range(0, size(near) - 1) | {node: near[place].node, place: place}]
  END AS one
  WITH one.node AS node, min(one.depth) AS depth, max(one.place) AS place
  WHERE depth IS NOT NULL AND place IS NOT NULL
  RETURN collect({node: node, depth: depth, place: place}) AS joined
}
CALL (page, withheld) {
  UNWIND CASE WHEN withheld THEN page ELSE [] END AS one
  WITH one.node AS node
  MATCH (node)-[step]->(m:Identity)
  WHERE type(step) IN $edgeTypes AND (m:Record OR $includeDeleted)
  WITH node,
    CASE WHEN m:Tombstone
      THEN $includeDeleted AND EXISTS {
        (m)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId}) }
      ELSE m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes
        AND any(grant IN $grants WHERE grant IN m.permissions)
    END AS shown
  WHERE shown IS NULL OR NOT shown
  RETURN collect(DISTINCT node.identity) AS stops
}
RETURN
  size(found) AS nodes, edges,
  reduce(deepest = 0, one IN found | 
    CASE WHEN one.depth > deepest THEN one.depth ELSE deepest END) AS deepest,
  any(one IN walked WHERE one.depth > $depthMax AND one.node <> root) AS deeper,
  any(one IN walked WHERE one.node = root) AS cycle, withheld, groups,
  [one IN page | {
    identity: one.node.identity, depth: one.depth, isTombstone: one.node:Tombstone, class: one.node.class,
    kind: one.node.kind, state: one.node.state, fenced: one.node.fence IS NOT NULL, tenantId: one.node.tenantId,
    purposes: one.node.purposes, permissions: one.node.permissions
  }] AS rows,
  [one IN joined | {
    identity: one.node.identity, depth: one.depth, isTombstone: one.node:Tombstone, state: one.node.state,
    tenantId: one.node.tenantId, purposes: one.node.purposes, permissions: one.node.permissions,
    steps: near[one.place].steps
  }] AS nearer,
  stops
