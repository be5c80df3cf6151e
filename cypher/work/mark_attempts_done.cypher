// name:    mark_attempts_done
// does:    Completes attempts and moves their outcomes, if the lease still holds. A settled outcome loses its locators and
//          its ledger entry ends; a request that had ended without it is at work again. Answers the outcomes moved, and the
//          requests with nothing left to settle. An answer under an old epoch changes nothing.
// access:  write
// params:  storeId STRING, shard INTEGER, epoch INTEGER, holder STRING, now INTEGER, rows LIST<MAP>
// returns: done LIST<STRING>, ready LIST<STRING>
// bound:   as many attempts and outcomes as rows
// plan:    NodeUniqueIndexSeek(Locking)
MATCH (heldShard:WorkShard {storeId: $storeId, shard: $shard})
SET heldShard:WorkShard
WITH collect(heldShard) AS shards
UNWIND shards AS w
WITH w
WHERE w.epoch = $epoch AND w.holder = $holder
SET w.verifiedAt = CASE WHEN any(row IN $rows WHERE row.settled) THEN $now ELSE w.verifiedAt END
WITH w
UNWIND $rows AS row
MATCH (heldOutcome:Outcome {outcomeId: row.outcomeId})
SET heldOutcome:Outcome
WITH collect({outcome: heldOutcome, row: row}) AS locked
UNWIND locked AS one
WITH one.outcome AS o, one.row AS row, one.outcome.outcome AS outcomeBefore,
  coalesce(one.outcome.history, []) AS historyBefore
WHERE o.nextAttemptAt IS NOT NULL
MATCH (a:Attempt {attemptId: row.attemptId})
SET a.finishedAt = CASE WHEN a.startedAt > $now THEN a.startedAt ELSE $now END, a += row.result
SET o += row.changes
SET o.history = CASE
  WHEN outcomeBefore IS NULL OR outcomeBefore = o.outcome THEN historyBefore
  ELSE historyBefore + [outcomeBefore]
END
WITH o, row
CALL (o, row) {
  WITH o, row
  WHERE row.settled
  MATCH (o)-[:OUTCOME_FOR]->(:Identity)-[e:STORED_IN]->(s)
  // No label: the plan must not begin at the store, which all copies hang on.
  WHERE s.storeId = $storeId
  REMOVE e.locator, e.storeId
}
CALL (o, row) {
  WITH o, row
  WHERE row.settled
  MATCH (o)-[:EXCEPTED_UNDER]->(x:Exception)
  SET x.state = 'ended', x.endedAt = $now
}
WITH collect({outcome: o, settled: row.settled}) AS moved
CALL (moved) {
  UNWIND moved AS one
  WITH one.outcome AS o, one.settled AS settled
  MATCH (o)<-[:HAS_OUTCOME]-(heldRequest:Request)
  WITH heldRequest, max(toInteger(settled)) AS settledHere
  ORDER BY heldRequest.requestId
  // The request is locked before it is looked at: of two workers that settle its last outcomes, the second sees both.
  SET heldRequest:Request
  WITH collect({request: heldRequest, settledHere: settledHere}) AS lockedRequests
  UNWIND lockedRequests AS held
  WITH held.request AS q, held.settledHere AS settledHere
  WITH q, settledHere,
    EXISTS { MATCH (p:Outcome) WHERE p.requestId = q.requestId AND p.state = 'pending' } AS pending,
    EXISTS { MATCH (p:Outcome) WHERE p.requestId = q.requestId AND p.state = 'retrying' } AS retrying,
    q.state IN ['COMPLETED', 'COMPLETED_WITH_EXCEPTIONS', 'CLOSED_WITH_OWNED_FAILURES'] AS ended
  WITH q, retrying, pending OR retrying AS open, ended AND settledHere = 1 AS resumed
  SET q.state = CASE
    WHEN resumed OR (q.state = 'PROPAGATING' AND retrying) THEN 'RETRYING'
    WHEN q.state = 'RETRYING' AND open AND NOT retrying THEN 'PROPAGATING'
    ELSE q.state
  END
  SET q.waiting = CASE WHEN NOT open THEN false WHEN resumed THEN true ELSE q.waiting END
  RETURN [id IN collect(CASE WHEN open THEN null ELSE q.requestId END) WHERE id IS NOT NULL] AS ready
}
RETURN [one IN moved | one.outcome.outcomeId] AS done, ready
