// name:    mark_request_propagated
// does:    Marks that the walk of a request has come to its end with everything settled, unless the request was reopened
//          since that walk began.
// access:  write
// params:  requestId STRING, reopened INTEGER, at INTEGER
// returns: marked INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek(Locking)
MATCH (held:Request {requestId: $requestId})
SET held:Request
WITH collect(held) AS locked
UNWIND locked AS q
WITH q
WHERE coalesce(q.reopened, 0) = $reopened
SET q.propagatedAt = $at
RETURN count(*) AS marked
