// name:    mark_outcomes_due
// does:    Has every failure of a request tried again: one in a store is due at an instant, and one in the graph reopens
//          the request.
// access:  write
// params:  requestId STRING, at INTEGER
// returns: due INTEGER
// bound:   the failed outcomes of one request
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})-[:HAS_OUTCOME]->(o:Outcome {outcome: 'failed'})
FOREACH (_ IN CASE WHEN o.shard IS NOT NULL THEN [1] ELSE [] END | SET o.nextAttemptAt = $at)
FOREACH (_ IN CASE WHEN o.store = 'graph' THEN [1] ELSE [] END | SET q.state = 'PROPAGATING', q.waiting = false)
RETURN count(*) AS due
