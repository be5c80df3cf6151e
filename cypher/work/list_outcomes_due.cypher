// name:    list_outcomes_due
// does:    Outcomes of one shard of a store that are due, longest overdue first.
// access:  read
// params:  storeId STRING, shard INTEGER, now INTEGER, rowsMax INTEGER
// returns: due LIST<MAP>
// order:   nextAttemptAt, outcomeId
// bound:   rowsMax outcomes
// plan:    NodeIndexSeek
MATCH (o:Outcome)
WHERE o.store = $storeId AND o.shard = $shard AND o.nextAttemptAt <= $now
WITH o
ORDER BY o.nextAttemptAt, o.outcomeId
LIMIT $rowsMax
RETURN collect({
  outcomeId: o.outcomeId,
  requestId: o.requestId,
  tenantId: head(COLLECT { MATCH (o)<-[:HAS_OUTCOME]-(q:Request) RETURN q.tenantId }),
  identity: o.identity,
  attempts: o.attempts,
  deadlineAt: o.deadlineAt
}) AS due
