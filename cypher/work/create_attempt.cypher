// name:    create_attempt
// does:    Writes down an attempt before its effect, if the lease still holds and the outcome is still due.
// access:  write
// params:  storeId STRING, shard INTEGER, epoch INTEGER, holder STRING, outcomeId STRING, attemptId STRING, now INTEGER
// returns: begun INTEGER
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
RETURN count(*) AS begun
