// name:    list_stray_fences
// does:    A page of identities, and of them the records under a fence that no request at work has set and that no outcome
//          explains.
// access:  read
// params:  after STRING, rowsMax INTEGER, terminalStates LIST<STRING>
// returns: pageLast STRING, stray LIST<STRING>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n, n:Record AND n.fence IS NOT NULL
  AND NOT EXISTS { (n)<-[:OUTCOME_FOR]-(:Outcome) }
  AND NOT EXISTS { MATCH (r:Request {requestId: n.fence}) WHERE NOT r.state IN $terminalStates } AS stray
RETURN max(n.identity) AS pageLast, collect(CASE WHEN stray THEN n.identity END) AS stray
