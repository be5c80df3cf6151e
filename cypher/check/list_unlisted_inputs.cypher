// name:    list_unlisted_inputs
// does:    A page of identities; the offenders are records derived from something that the work which made them did not use, or
//          were used by work that made nothing out of them.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: pageLast STRING, offenders LIST<STRING>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n, EXISTS {
  MATCH (n)-[:PRODUCED_BY]->(o:Operation)
  MATCH (n)-[:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM|PROJECTED_FROM
            |PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM]->(m:Identity)
  WHERE NOT EXISTS { (o)-[:USED]->(m) }
} OR EXISTS {
  MATCH (n)<-[:USED]-(o:Operation)
  WHERE NOT EXISTS {
    MATCH (o)<-[:PRODUCED_BY]-(m:Identity)
    WHERE EXISTS {
      (m)-[:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM|PROJECTED_FROM
            |PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM]->(n)
    }
  }
} AS offends
RETURN max(n.identity) AS pageLast, collect(CASE WHEN offends THEN n.identity END) AS offenders
