// name:    create_attempt
// does:    Writes down an attempt before its effect, if the lease still holds and the outcome is still due.
//          Answers where the copies are now, and how many attempts at them began before, by whichever request.
// access:  write
// params:  storeId STRING, shard INTEGER, epoch INTEGER, holder STRING, outcomeId STRING, attemptId STRING, now INTEGER
// returns: locators LIST<STRING>, attemptsBefore INTEGER
// bound:   one attempt
// plan:    NodeUniqueIndexSeek(Locking)
MATCH (heldShard:WorkShard {storeId: $storeId, shard: $shard})
SET heldShard:WorkShard
WITH collect(heldShard) AS shards
MATCH (heldOutcome:Outcome {outcomeId: $outcomeId})
SET heldOutcome:Outcome
WITH shards, collect(heldOutcome) AS outcomes
UNWIND shards AS w
UNWIND outcomes AS o
WITH w, o, coalesce(o.attempts, 0) AS attemptsBefore
WHERE w.epoch = $epoch AND w.holder = $holder AND w.until > $now AND o.nextAttemptAt <= $now
MERGE (a:Attempt {attemptId: $attemptId})
ON CREATE SET a.number = attemptsBefore + 1, a.startedAt = $now, a.epoch = $epoch
MERGE (o)-[:HAS_ATTEMPT]->(a)
SET o.attempts = attemptsBefore + 1
RETURN
  COLLECT {
    MATCH (o)-[:OUTCOME_FOR]->(:Identity)-[e:STORED_IN]->(:Store {storeId: $storeId})
    WHERE e.locator IS NOT NULL
    RETURN e.locator ORDER BY e.locator
  } AS locators,
  COUNT {
    MATCH (o)-[:OUTCOME_FOR]->(d:Identity)
    MATCH (d)<-[:OUTCOME_FOR]-(:Outcome {store: $storeId})-[:HAS_ATTEMPT]->(before:Attempt)
    WHERE before.attemptId <> $attemptId
    RETURN before
  } AS attemptsBefore
