// name:    expand_routes
// does:    Everything that a record was derived from and that the caller may see, with the derivation edges between,
//          for counting the routes from one of the sources. Too many edges are counted and left out.
// access:  read
// params:  identity STRING, source STRING, edgeTypes LIST<STRING>, edgesMax INTEGER, includeDeleted BOOLEAN,
//          tenantId STRING, tenants LIST<STRING>, purpose STRING, grants LIST<STRING>, states LIST<STRING>
// literals: levels INTEGER
// returns: isTombstone BOOLEAN, nodes INTEGER, edges INTEGER, deepest INTEGER, withheld BOOLEAN, reaches BOOLEAN,
//          joins LIST<MAP>
// order:   none
// bound:   one row; edgesMax edges in joins
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
  MATCH (source:Identity {identity: $source})
  WHERE
    CASE WHEN source:Tombstone
      THEN EXISTS {
        (source)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
      }
      ELSE source.tenantId IN $tenants AND source.state IN $states AND $purpose IN source.purposes
        AND any(grant IN $grants WHERE grant IN source.permissions)
    END
  RETURN source:Tombstone AS sourceIsTombstone
}
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
  WITH collect({node: reached, depth: depth}) AS walked
  RETURN [{node: target, depth: 0}] + walked AS cone
}
CALL (cone) {
  // Each source is judged once, not once an edge.
  UNWIND cone AS one
  WITH one.node AS node
  MATCH (node)-[step]->(m:Identity)
  WHERE type(step) IN $edgeTypes AND (m:Record OR $includeDeleted)
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
CALL (cone, edges) {
  UNWIND CASE WHEN edges <= $edgesMax THEN cone ELSE [] END AS one
  WITH one.node AS node
  MATCH (node)-[step]->(m:Identity)
  WHERE type(step) IN $edgeTypes
  WITH m, collect({identity: node.identity, edge: type(step)}) AS steps
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
    permissions: m.permissions, steps: steps
  }) AS joins
}
RETURN
  target:Tombstone OR sourceIsTombstone AS isTombstone, size(cone) - 1 AS nodes, edges,
  reduce(deepest = 0, one IN cone | CASE WHEN one.depth > deepest THEN one.depth ELSE deepest END) AS deepest,
  withheld, any(one IN cone WHERE one.depth > 0 AND one.node.identity = $source) AS reaches, joins
