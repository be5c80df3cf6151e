// name:    list_edge_ends
// does:    Which edge types join what: each combination of type, labels and kinds once, with how often it occurs, how
//          often with a property that it may not have, and one place where it does.
// access:  read
// params:  none
// returns: edge STRING, childLabels LIST<STRING>, childKind STRING, childState STRING, parentLabels LIST<STRING>,
//          parentKind STRING, occurrences INTEGER, decorated INTEGER, example STRING
// order:   edge, then how often, most first
// bound:   one row for each combination, in one pass over all edges
// plan:    DirectedAllRelationshipsScan
MATCH (child)-[e]->(parent)
WITH type(e) AS edge, labels(child) AS childLabels, child.kind AS childKind,
  CASE WHEN child.state = 'quarantined' THEN 'quarantined' ELSE 'other' END AS childState,
  labels(parent) AS parentLabels, parent.kind AS parentKind, count(*) AS occurrences,
  count(CASE WHEN size(keys(e)) > 0 AND any(name IN keys(e) WHERE NOT (type(e) = 'STORED_IN' AND name IN ['locator', 'storeId'])) THEN 1 END) AS decorated,
  min(coalesce(child.outcomeId, child.requestId, child.operationId, child.identity, elementId(child))) AS example
RETURN edge, childLabels, childKind, childState, parentLabels, parentKind, occurrences, decorated, example
ORDER BY edge, occurrences DESC
