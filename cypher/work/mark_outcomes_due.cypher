// name:    mark_outcomes_due
// does:    Makes every failed outcome of a request that a worker can try again due at an instant.
// access:  write
// params:  requestId STRING, at INTEGER
// returns: due INTEGER
// bound:   the failed outcomes of one request
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})-[:HAS_OUTCOME]->(o:Outcome {outcome: 'failed'})
WHERE o.shard IS NOT NULL
SET o.nextAttemptAt = $at
RETURN count(*) AS due
