// name:    mark_outcomes_due
// does:    Has every failure of a request tried again: one in a store is due at an instant, and one in the graph reopens
//          the request.
// access:  write
// params:  requestId STRING, at INTEGER
// returns: due INTEGER
// bound:   the failed outcomes of one request
// plan:    NodeUniqueIndexSeek
MATCH (held:Request {requestId: $requestId})
SET held:Request
WITH collect(held) AS locked
UNWIND locked AS q
MATCH (q)-[:HAS_OUTCOME]->(o:Outcome {outcome: 'failed'})
WITH q, collect(o) AS failures, coalesce(q.reopened, 0) AS reopenedBefore
FOREACH (o IN [o IN failures WHERE o.shard IS NOT NULL] | SET o.nextAttemptAt = $at)
FOREACH (_ IN CASE WHEN any(o IN failures WHERE o.store = 'graph') THEN [1] ELSE [] END |
  SET q.state = 'PROPAGATING', q.waiting = false, q.propagatedAt = null, q.reopened = reopenedBefore + 1
)
RETURN size(failures) AS due
