// name:    create_attempts
// does:    Writes attempts down before their effect, if the lease still holds, for each outcome that is still due; at most
//          as many as the store's rate leaves now. Answers where the copies are, and how many attempts at them began
//          before, by whichever request.
// access:  write
// params:  storeId STRING, shard INTEGER, epoch INTEGER, holder STRING, now INTEGER, rows LIST<MAP>, attemptIds LIST<STRING>,
//          rate INTEGER
// returns: attempts LIST<MAP>
// bound:   as many attempts as rows
// plan:    NodeUniqueIndexSeek(Locking)
MATCH (heldShard:WorkShard {storeId: $storeId, shard: $shard})
SET heldShard:WorkShard
WITH collect(heldShard) AS shards
UNWIND shards AS w
WITH w
WHERE w.epoch = $epoch AND w.holder = $holder AND w.until > $now
CALL (w) {
  WITH w
  WHERE $rate IS NULL
  RETURN size($rows) AS granted
  UNION
  WITH w
  WHERE $rate IS NOT NULL
  MATCH (heldStore:Store {storeId: $storeId})
  SET heldStore:Store
  WITH collect(heldStore) AS stores
  UNWIND stores AS s
  // A full second's worth at most; a clock that was set back fills nothing and starves nobody.
  WITH s, coalesce(s.tokens, toFloat($rate)) AS left, $now - coalesce(s.tokensAt, $now) AS elapsed
  WITH s, left + CASE WHEN elapsed > 0 THEN elapsed ELSE 0 END * $rate / 1000000.0 AS filled
  WITH s, CASE WHEN filled > $rate THEN toFloat($rate) ELSE filled END AS available
  WITH s, available, CASE WHEN available > size($rows) THEN size($rows) ELSE toInteger(available) END AS granted
  SET s.tokens = available - granted, s.tokensAt = $now
  RETURN granted
}
UNWIND $rows[..granted] AS row
MATCH (heldOutcome:Outcome {outcomeId: row.outcomeId})
SET heldOutcome:Outcome
WITH collect({outcome: heldOutcome, attemptId: row.attemptId}) AS locked
UNWIND locked AS one
WITH one.outcome AS o, one.attemptId AS attemptId
WHERE o.nextAttemptAt <= $now
WITH o, attemptId, coalesce(o.attempts, 0) AS attemptsBefore,
  COUNT {
    MATCH (o)-[:OUTCOME_FOR]->(d:Identity)
    MATCH (d)<-[:OUTCOME_FOR]-(:Outcome {store: $storeId})-[:HAS_ATTEMPT]->(before:Attempt)
    WHERE NOT before.attemptId IN $attemptIds
    RETURN before
  } AS attemptsAnywhere,
  COLLECT {
    MATCH (o)-[:OUTCOME_FOR]->(:Identity)-[e:STORED_IN]->(s)
    WHERE s.storeId = $storeId AND e.locator IS NOT NULL
    RETURN e.locator ORDER BY e.locator
  } AS locators
MERGE (a:Attempt {attemptId: attemptId})
ON CREATE SET a.number = attemptsBefore + 1, a.startedAt = $now, a.epoch = $epoch
MERGE (o)-[:HAS_ATTEMPT]->(a)
SET o.attempts = a.number
RETURN collect({attemptId: attemptId, locators: locators, attemptsBefore: attemptsAnywhere}) AS attempts
