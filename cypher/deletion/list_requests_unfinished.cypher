// name:    list_requests_unfinished
// does:    Requests in the given states, oldest first.
// access:  read
// params:  states LIST<STRING>, rowsMax INTEGER
// returns: requestIds LIST<STRING>
// order:   receivedAt
// bound:   rowsMax requests
// plan:    NodeIndexSeek
MATCH (q:Request)
WHERE q.state IN $states
WITH q
ORDER BY q.receivedAt, q.requestId
LIMIT $rowsMax
RETURN collect(q.requestId) AS requestIds
