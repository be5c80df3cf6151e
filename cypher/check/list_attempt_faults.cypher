// name:    list_attempt_faults
// does:    A page of attempts, and of them those that are attempts at no outcome, or at more than one.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: pageLast STRING, page LIST<MAP>
// order:   attemptId
// bound:   one row for a page of at most rowsMax attempts
// plan:    NodeUniqueIndexSeekByRange
MATCH (a:Attempt)
WHERE a.attemptId > $after
WITH a ORDER BY a.attemptId LIMIT $rowsMax
WITH a, COUNT { (a)<-[:HAS_ATTEMPT]-(:Outcome) } <> 1 AS offends
WITH max(a.attemptId) AS pageLast, collect({identity: a.attemptId, faults: CASE WHEN offends THEN ['no_outcome'] ELSE [] END}) AS rows
RETURN pageLast, [row IN rows WHERE size(row.faults) > 0] AS page
