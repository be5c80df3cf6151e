// name:    list_late_uses
// does:    A page of identities; the offenders were made, or made of one of them, after a deletion had ended it.
// access:  read
// params:  after STRING, rowsMax INTEGER, store STRING
// returns: pageLast STRING, offenders LIST<MAP>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n
ORDER BY n.identity
LIMIT $rowsMax
WITH n, CASE
  WHEN n:Tombstone THEN n.deletedAt
  WHEN n.state = 'invalidated' THEN head(COLLECT {
    MATCH (n)<-[:OUTCOME_FOR]-(o:Outcome)
    WHERE o.store = $store AND o.outcome = 'invalidated'
    RETURN min(o.decidedAt)
  })
END AS endedAt
WITH max(n.identity) AS pageLast, collect(CASE WHEN endedAt IS NOT NULL THEN {node: n, endedAt: endedAt} END) AS ended
CALL (ended) {
  UNWIND ended AS one
  WITH one.node AS node, one.endedAt AS endedAt
  CALL (node, endedAt) {
    MATCH (node)-[:PRODUCED_BY]->(o:Operation)
    WHERE o.at > endedAt
    RETURN node AS late
    UNION
    MATCH (node)<-[:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM|PROJECTED_FROM
                   |PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM]-(late:Identity)
    MATCH (late)-[:PRODUCED_BY]->(o:Operation)
    WHERE o.at > endedAt
    RETURN late
  }
  RETURN collect({identity: late.identity, endedId: node.identity}) AS offenders
}
RETURN pageLast, offenders
