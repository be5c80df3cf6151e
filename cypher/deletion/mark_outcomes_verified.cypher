// name:    mark_outcomes_verified
// does:    Reads, apart from the writes, what each in-graph outcome of a request says is so, and turns those that are not
//          so into failures with the store's owner. Marks the request as read back at this instant.
// access:  write
// params:  requestId STRING, ownerId STRING, at INTEGER
// returns: held INTEGER, failed LIST<STRING>
// bound:   the outcomes of one request
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})
SET q.verifiedAt = $at
WITH q
OPTIONAL MATCH (q)-[:HAS_OUTCOME]->(o:Outcome {store: 'graph'})-[:OUTCOME_FOR]->(d:Identity)
WITH o,
  CASE o.outcome
    WHEN 'deleted' THEN d:Tombstone AND NOT d:Record AND size(keys(d)) = 4
    WHEN 'invalidated' THEN d:Tombstone OR (d.state = 'invalidated' AND d.content IS NULL AND d.principalKey IS NULL AND d.sourceKey IS NULL)
    WHEN 'retained_under_exception' THEN d:Tombstone OR d.state = 'retained'
    ELSE true
  END AS holds
WITH count(CASE WHEN holds THEN o END) AS held, collect(CASE WHEN NOT holds THEN o END) AS offenders
FOREACH (o IN offenders |
  SET o.history = coalesce(o.history, []) + [o.outcome], o.outcome = 'failed', o.state = 'owned',
      o.reason = 'VERIFICATION_FAILED', o.ownerId = $ownerId, o.decidedAt = $at
)
RETURN held, [o IN offenders | o.outcomeId] AS failed
