// name:    mark_fences_lifted
// does:    Lifts fences that provably belong to no deletion, judged anew under the records' locks as in `list_fences_untouched`,
//          and none at all while any request is at work: its walk may count on a fence that it found. Answers which.
// access:  write
// params:  identities LIST<STRING>, deletionTypes LIST<STRING>, emptiedStates LIST<STRING>, terminalStates LIST<STRING>,
//          workingStates LIST<STRING>
// returns: lifted LIST<STRING>
// order:   locks are taken in the order of the list; the caller sorts it
// bound:   size(identities) nodes
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
UNWIND $identities AS wanted
MATCH (held:Identity {identity: wanted})
SET held:Identity
WITH collect(held) AS locked
UNWIND locked AS n
WITH n
WHERE n:Record AND n.fence IS NOT NULL AND n.state IN ['active', 'superseded', 'quarantined']
  AND NOT EXISTS { MATCH (r:Request) WHERE r.state IN $workingStates }
  AND NOT EXISTS { (n)<-[:OUTCOME_FOR]-(:Outcome) }
  AND EXISTS { MATCH (r:Request {requestId: n.fence}) WHERE r.state IN $terminalStates AND NOT n.identity IN r.scope }
  AND NOT EXISTS { (n)<-[:TARGETS]-(:Request) }
  AND NOT EXISTS {
    MATCH (n)-[e]->(m:Identity)
    WHERE type(e) IN $deletionTypes AND (m:Tombstone OR m.fence IS NOT NULL OR m.state IN $emptiedStates)
  }
WITH collect(n) AS free
FOREACH (n IN free | REMOVE n.fence)
RETURN [n IN free | n.identity] AS lifted
