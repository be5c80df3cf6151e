// name:    mark_attempt_done
// does:    Completes an attempt and moves its outcome, if the lease still holds; a settled outcome loses its locators, and
//          its ledger entry ends, and a request that had ended without it is judged anew. An answer under an old epoch
//          changes nothing.
// access:  write
// params:  storeId STRING, shard INTEGER, epoch INTEGER, holder STRING, outcomeId STRING, attemptId STRING, now INTEGER,
//          result MAP, changes MAP, settled BOOLEAN, level STRING
// returns: done INTEGER
// bound:   one attempt, one outcome
// plan:    NodeUniqueIndexSeek(Locking)
MATCH (heldShard:WorkShard {storeId: $storeId, shard: $shard})
SET heldShard:WorkShard
WITH collect(heldShard) AS shards
MATCH (heldOutcome:Outcome {outcomeId: $outcomeId})
SET heldOutcome:Outcome
WITH shards, collect(heldOutcome) AS outcomes
UNWIND shards AS w
UNWIND outcomes AS o
WITH w, o, o.outcome AS outcomeBefore, coalesce(o.history, []) AS historyBefore
WHERE w.epoch = $epoch AND w.holder = $holder AND o.nextAttemptAt IS NOT NULL
MATCH (a:Attempt {attemptId: $attemptId})
SET a.finishedAt = CASE WHEN a.startedAt > $now THEN a.startedAt ELSE $now END, a += $result
SET o += $changes
SET o.history = CASE
  WHEN outcomeBefore IS NULL OR outcomeBefore = o.outcome THEN historyBefore
  ELSE historyBefore + [outcomeBefore]
END
SET o.verificationLevel = CASE WHEN $settled THEN $level ELSE 'unreachable' END
WITH o
CALL (o) {
  WITH o
  WHERE $settled
  MATCH (o)-[:OUTCOME_FOR]->(:Identity)-[e:STORED_IN]->(:Store {storeId: $storeId})
  REMOVE e.locator, e.storeId
}
CALL (o) {
  WITH o
  WHERE $settled
  MATCH (o)-[:EXCEPTED_UNDER]->(x:Exception)
  SET x.state = 'ended', x.endedAt = $now
}
CALL (o) {
  MATCH (o)<-[:HAS_OUTCOME]-(q:Request)
  SET q.waiting = false
  WITH q
  WHERE $settled AND q.state IN ['COMPLETED', 'COMPLETED_WITH_EXCEPTIONS', 'CLOSED_WITH_OWNED_FAILURES']
  SET q.state = 'RETRYING'
}
RETURN count(*) AS done
