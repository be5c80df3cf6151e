// name:    list_fences_untouched
// does:    A page of identities, and of them the records whose fence provably belongs to no deletion: its request has ended, did
//          not ask for them and gave them no outcome, and nothing that they hang on was fenced, emptied, kept or deleted.
// access:  read
// params:  after STRING, rowsMax INTEGER, deletionTypes LIST<STRING>, emptiedStates LIST<STRING>, terminalStates LIST<STRING>
// returns: pageLast STRING, untouched LIST<STRING>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n, n:Record AND n.fence IS NOT NULL AND n.state IN ['active', 'superseded', 'quarantined']
  AND EXISTS { MATCH (r:Request {requestId: n.fence}) WHERE r.state IN $terminalStates AND NOT n.identity IN r.scope }
  AND NOT EXISTS { (n)<-[:OUTCOME_FOR]-(:Outcome) }
  AND NOT EXISTS { (n)<-[:TARGETS]-(:Request) }
  AND NOT EXISTS {
    MATCH (n)-[e]->(m:Identity)
    WHERE type(e) IN $deletionTypes AND (m:Tombstone OR m.fence IS NOT NULL OR m.state IN $emptiedStates)
  } AS untouched
RETURN max(n.identity) AS pageLast, collect(CASE WHEN untouched THEN n.identity END) AS untouched
