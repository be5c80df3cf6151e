// name:    list_wide_audiences
// does:    A page of identities; the offenders serve a reader or a purpose that one of their sources does not serve.
//          What is in quarantine serves reviewers alone and is left out.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: pageLast STRING, offenders LIST<STRING>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n, n:Record AND n.state <> 'quarantined' AND EXISTS {
  MATCH (n)-[:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM|PROJECTED_FROM
            |PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM]->(m:Record)
  WHERE any(permission IN n.permissions WHERE NOT permission IN m.permissions)
     OR any(purpose IN n.purposes WHERE NOT purpose IN m.purposes)
} AS offends
RETURN max(n.identity) AS pageLast, collect(CASE WHEN offends THEN n.identity END) AS offenders
