// name:    mark_request_state
// does:    Moves a request from one of the given states to another; nothing happens where it is in none of them.
// access:  write
// params:  requestId STRING, states LIST<STRING>, state STRING, changes MAP
// returns: moved INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek(Locking)
MATCH (held:Request {requestId: $requestId})
SET held:Request
WITH collect(held) AS locked
UNWIND locked AS q
WITH q
WHERE q.state IN $states
SET q += $changes
SET q.state = $state
RETURN count(*) AS moved
