// name:    list_outcome_lines
// does:    Outcomes of a request after a place in the order, each as one line of opaque ids, for a receipt's digest.
// access:  read
// params:  requestId STRING, after STRING, rowsMax INTEGER
// returns: lines LIST<STRING>, last STRING
// order:   outcomeId
// bound:   rowsMax outcomes
// plan:    NodeUniqueIndexSeek
// Without the hint a small page is looked for among all outcomes there are, in the order of their index.
MATCH (q:Request {requestId: $requestId})-[:HAS_OUTCOME]->(o:Outcome)
USING INDEX q:Request(requestId)
WHERE o.outcomeId > $after
WITH o
ORDER BY o.outcomeId
LIMIT $rowsMax
WITH collect(o.outcomeId + ' ' + o.identity + ' ' + o.store + ' ' + coalesce(o.outcome, 'none') + ' ' + o.rule) AS lines,
     max(o.outcomeId) AS last
RETURN lines, last
