// name:    list_derivation_sources
// does:    A page of identities, and for each that was derived or supersedes something what it hangs on.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: pageLast STRING, page LIST<MAP>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n, COLLECT {
  MATCH (n)-[:SUPERSEDES|OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM|PROJECTED_FROM
           |PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM]->(m:Identity)
  RETURN DISTINCT m.identity
} AS sources
WITH max(n.identity) AS pageLast, collect({identity: n.identity, sources: sources}) AS pairs
RETURN pageLast, [pair IN pairs WHERE size(pair.sources) > 0] AS page
