// name:    mark_request_finished
// does:    Ends a request if each of its outcomes is there or owned, its walk has come to its end, judged under the request's lock, and what they
//          say was read back at this very instant; keeps the receipt; a repeat with the same state changes nothing.
// access:  write
// params:  requestId STRING, state STRING, at INTEGER, receipt STRING, expectedOutcomes INTEGER
// returns: finished INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek(Locking)
MATCH (held:Request {requestId: $requestId})
SET held:Request
WITH collect(held) AS locked
UNWIND locked AS q
WITH q
WHERE NOT EXISTS {
    MATCH (q)-[:HAS_OUTCOME]->(o:Outcome)
    WHERE o.state IN ['pending', 'retrying'] OR o.outcome IS NULL OR (o.outcome = 'failed' AND o.ownerId IS NULL)
  }
  AND COUNT { (q)-[:HAS_OUTCOME]->(:Outcome) } = $expectedOutcomes
  AND q.verifiedAt = $at
  AND q.propagatedAt IS NOT NULL
  AND q.state <> $state
SET q.finishedAt = $at, q.receipt = $receipt, q.receiptSequence = coalesce(q.receiptSequence, 0) + 1
SET q.state = $state
RETURN count(*) AS finished
