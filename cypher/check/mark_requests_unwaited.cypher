// name:    mark_requests_unwaited
// does:    Takes the mark of waiting for stores from requests that have nothing pending there, judged anew under their locks:
//          a worker then concludes them. Answers which.
// access:  write
// params:  requestIds LIST<STRING>
// returns: unwaited LIST<STRING>
// order:   locks are taken in the order of the list; the caller sorts it
// bound:   size(requestIds) nodes
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
UNWIND $requestIds AS wanted
MATCH (held:Request {requestId: wanted})
SET held:Request
WITH collect(held) AS locked
UNWIND locked AS r
WITH r
WHERE r.waiting = true
  AND NOT EXISTS { MATCH (r)-[:HAS_OUTCOME]->(o:Outcome) WHERE o.state IN ['pending', 'retrying'] }
WITH collect(r) AS idle
FOREACH (r IN idle | SET r.waiting = false)
RETURN [r IN idle | r.requestId] AS unwaited
