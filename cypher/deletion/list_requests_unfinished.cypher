// name:    list_requests_unfinished
// does:    Requests in the given states that do not wait for their stores alone, oldest first.
// access:  read
// params:  states LIST<STRING>, afterAt INTEGER, afterId STRING, rowsMax INTEGER
// returns: requestIds LIST<STRING>, lastAt INTEGER
// order:   receivedAt, requestId
// bound:   rowsMax requests
// plan:    NodeIndexSeek
MATCH (q:Request)
WHERE q.state IN $states AND coalesce(q.waiting, false) = false
  AND (q.receivedAt > $afterAt OR (q.receivedAt = $afterAt AND q.requestId > $afterId))
WITH q
ORDER BY q.receivedAt, q.requestId
LIMIT $rowsMax
RETURN collect(q.requestId) AS requestIds, max(q.receivedAt) AS lastAt
