// name:    list_requests_idle
// does:    A page of requests, and of them those that wait for their stores while nothing is pending there.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: pageLast STRING, idle LIST<STRING>
// order:   requestId
// bound:   one row for a page of at most rowsMax requests
// plan:    NodeUniqueIndexSeekByRange
MATCH (r:Request)
WHERE r.requestId > $after
WITH r ORDER BY r.requestId LIMIT $rowsMax
WITH r, coalesce(r.waiting, false)
  AND NOT EXISTS { MATCH (r)-[:HAS_OUTCOME]->(o:Outcome) WHERE o.state IN ['pending', 'retrying'] } AS idle
RETURN max(r.requestId) AS pageLast, collect(CASE WHEN idle THEN r.requestId END) AS idle
