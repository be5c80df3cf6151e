// name:    list_node_labels
// does:    Which sets of labels occur, how often, how many of those nodes lack an identity, and one example without.
// access:  read
// params:  none
// returns: labels LIST<STRING>, occurrences INTEGER, unnamed INTEGER, example STRING
// order:   how often, most first
// bound:   one row for each set of labels, in one pass over all nodes
// plan:    AllNodesScan
MATCH (n)
WITH labels(n) AS labels, count(*) AS occurrences, count(CASE WHEN n.identity IS NULL THEN 1 END) AS unnamed,
  min(CASE WHEN n.identity IS NULL THEN elementId(n) ELSE n.identity END) AS example
RETURN labels, occurrences, unnamed, example
ORDER BY occurrences DESC
