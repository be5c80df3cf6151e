// name:    list_edge_ends
// does:    Which edge types join what: each combination of type, labels and kinds once, with how often it occurs and one
//          place where it does.
// access:  read
// params:  none
// returns: edge STRING, childLabels LIST<STRING>, childKind STRING, childState STRING, parentLabels LIST<STRING>,
//          parentKind STRING, occurrences INTEGER, example STRING
// order:   edge, then how often, most first
// bound:   one row for each combination, in one pass over all edges
// plan:    DirectedAllRelationshipsScan
MATCH (child)-[e]->(parent)
WITH type(e) AS edge, labels(child) AS childLabels, child.kind AS childKind,
  CASE WHEN child.state = 'quarantined' THEN 'quarantined' ELSE 'other' END AS childState,
  labels(parent) AS parentLabels, parent.kind AS parentKind, count(*) AS occurrences,
  min(coalesce(child.identity, child.outcomeId, child.requestId, child.operationId, elementId(child))) AS example
RETURN edge, childLabels, childKind, childState, parentLabels, parentKind, occurrences, example
ORDER BY edge, occurrences DESC
