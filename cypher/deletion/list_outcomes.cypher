// name:    list_outcomes
// does:    Outcomes of a request after a place in the order, for paging that no write can disturb.
// access:  read
// params:  requestId STRING, after STRING, rowsMax INTEGER, graphLevel STRING
// returns: outcomes LIST<MAP>
// order:   outcomeId
// bound:   rowsMax outcomes
// plan:    NodeUniqueIndexSeek
// Without the hint a small page is looked for among all outcomes there are, in the order of their index.
MATCH (q:Request {requestId: $requestId})-[:HAS_OUTCOME]->(o:Outcome)
USING INDEX q:Request(requestId)
WHERE o.outcomeId > $after
WITH o, q.verifiedAt AS verifiedAt
ORDER BY o.outcomeId
LIMIT $rowsMax
RETURN collect({
  outcomeId: o.outcomeId, identity: o.identity, store: o.store, outcome: o.outcome, state: o.state, rule: o.rule,
  basis: o.basis, depth: o.depth, witnessEdge: o.witnessEdge, witnessParent: o.witnessParent, reason: o.reason,
  attempts: coalesce(o.attempts, 0), nextAttemptAt: o.nextAttemptAt, deadlineAt: o.deadlineAt, ownerId: o.ownerId,
  decidedAt: o.decidedAt,
  verificationLevel: CASE
    WHEN o.store = 'graph' AND o.outcome <> 'failed' AND verifiedAt >= o.decidedAt THEN $graphLevel
    ELSE o.verificationLevel
  END,
  history: coalesce(o.history, [])
}) AS outcomes
