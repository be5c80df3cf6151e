// name:    list_outcomes_failed
// does:    The failures of a request with their owners.
// access:  read
// params:  requestId STRING
// returns: failures LIST<MAP>
// order:   outcomeId
// bound:   the failed outcomes of one request
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})-[:HAS_OUTCOME]->(o:Outcome {outcome: 'failed'})
WITH o
ORDER BY o.outcomeId
RETURN collect({outcomeId: o.outcomeId, store: o.store, ownerId: o.ownerId, reason: o.reason}) AS failures
