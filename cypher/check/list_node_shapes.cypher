// name:    list_node_shapes
// does:    Which labels occur together with which properties, how often, and one node that is so: by identity or id.
// access:  read
// params:  rowsMax INTEGER
// returns: labels LIST<STRING>, names LIST<STRING>, occurrences INTEGER, example STRING
// order:   how often, least first
// bound:   rowsMax rows, in one pass over all nodes
// plan:    AllNodesScan
MATCH (n)
WITH labels(n) AS labels, keys(n) AS names, count(*) AS occurrences,
  min(coalesce(n.outcomeId, n.exceptionId, n.requestId, n.operationId, n.identity, elementId(n))) AS example
RETURN labels, names, occurrences, example
ORDER BY occurrences
LIMIT $rowsMax
