// name:    list_property_names
// does:    Which properties the nodes of each set of labels have, how often, and one place where: by identity or id.
// access:  read
// params:  none
// returns: labels LIST<STRING>, name STRING, occurrences INTEGER, example STRING
// order:   how often, most first
// bound:   one row for each set of labels and property, in one pass over all nodes
// plan:    AllNodesScan
MATCH (n)
UNWIND keys(n) AS name
WITH labels(n) AS labels, name, count(*) AS occurrences,
  min(coalesce(n.identity, n.outcomeId, n.requestId, n.operationId, elementId(n))) AS example
RETURN labels, name, occurrences, example
ORDER BY occurrences DESC
