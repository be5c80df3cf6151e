// name:    mark_request_waiting
// does:    Marks a request as waiting for its stores alone, if an outcome is still pending when judged under the request's
//          lock; whoever settles one takes the mark away, so none is overlooked.
// access:  write
// params:  requestId STRING, states LIST<STRING>, state STRING
// returns: waiting INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek(Locking)
MATCH (held:Request {requestId: $requestId})
SET held:Request
WITH collect(held) AS locked
UNWIND locked AS q
WITH q
WHERE q.state IN $states AND q.propagatedAt IS NOT NULL AND EXISTS {
  MATCH (q)-[:HAS_OUTCOME]->(o:Outcome)
  WHERE o.state IN ['pending', 'retrying']
}
SET q.state = $state, q.waiting = true
RETURN count(*) AS waiting
