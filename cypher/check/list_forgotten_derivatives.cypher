// name:    list_forgotten_derivatives
// does:    A page of identities; the offenders were made of something that a deletion removed, emptied or kept back, and have
//          neither an outcome nor the fence of a request that is still at work.
// access:  read
// params:  after STRING, rowsMax INTEGER, deletionTypes LIST<STRING>, emptiedStates LIST<STRING>, terminalStates LIST<STRING>
// returns: pageLast STRING, offenders LIST<STRING>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n, n:Record
  AND EXISTS { MATCH (n)-[e]->(m:Identity) WHERE type(e) IN $deletionTypes AND (m:Tombstone OR m.state IN $emptiedStates) }
  AND NOT EXISTS { (n)<-[:OUTCOME_FOR]-(:Outcome) }
  AND NOT EXISTS { MATCH (r:Request {requestId: n.fence}) WHERE NOT r.state IN $terminalStates } AS offends
RETURN max(n.identity) AS pageLast, collect(CASE WHEN offends THEN n.identity END) AS offenders
