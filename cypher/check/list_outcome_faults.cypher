// name:    list_outcome_faults
// does:    A page of outcomes, and of them those that hang in the air, are there twice, say what is not so, are due for ever or
//          never, or disagree with the exception ledger; each with the names of its faults.
// access:  read
// params:  after STRING, rowsMax INTEGER, terminalStates LIST<STRING>, connectedStores LIST<STRING>
// returns: pageLast STRING, page LIST<MAP>
// order:   outcomeId
// bound:   one row for a page of at most rowsMax outcomes
// plan:    NodeUniqueIndexSeekByRange
MATCH (o:Outcome)
WHERE o.outcomeId > $after
WITH o ORDER BY o.outcomeId LIMIT $rowsMax
WITH o,
  EXISTS { (o)-[:EXCEPTED_UNDER]->(:Exception {state: 'open'}) } AS entered,
  o.state IN ['pending', 'retrying'] AS open,
  o.state = 'owned' OR o.outcome = 'retained_under_exception' AS excepted
WITH o, [fault IN [
  CASE WHEN COUNT { (o)<-[:HAS_OUTCOME]-() } <> 1
    OR NOT EXISTS { MATCH (o)<-[:HAS_OUTCOME]-(r:Request) WHERE r.requestId = o.requestId } THEN 'no_request' END,
  CASE WHEN COUNT { (o)-[:OUTCOME_FOR]->() } <> 1
    OR NOT EXISTS { MATCH (o)-[:OUTCOME_FOR]->(n:Identity) WHERE n.identity = o.identity } THEN 'no_record' END,
  CASE WHEN EXISTS {
    MATCH (o)-[:OUTCOME_FOR]->(:Identity)<-[:OUTCOME_FOR]-(twin:Outcome)
    WHERE twin <> o AND twin.requestId = o.requestId AND twin.store = o.store
  } THEN 'twice' END,
  CASE WHEN o.store = 'graph' AND o.state = 'settled' AND EXISTS {
    MATCH (o)<-[:HAS_OUTCOME]-(r:Request) WHERE r.state IN $terminalStates
  } AND EXISTS {
    MATCH (o)-[:OUTCOME_FOR]->(n:Record)
    WHERE o.outcome = 'deleted'
       OR (o.outcome = 'invalidated' AND (n.state <> 'invalidated' OR n.content IS NOT NULL))
       OR (o.outcome = 'retained_under_exception' AND n.state <> 'retained')
  } THEN 'untrue' END,
  CASE WHEN o.outcome IN ['deleted', 'not_found'] AND o.state = 'settled' AND EXISTS {
    MATCH (o)-[:OUTCOME_FOR]->(:Identity)-[e:STORED_IN]->(s:Store)
    WHERE s.storeId = o.store AND e.locator IS NOT NULL
  } THEN 'located' END,
  CASE WHEN excepted AND NOT entered THEN 'not_entered' END,
  CASE WHEN NOT excepted AND o.state = 'settled' AND entered THEN 'entered' END,
  CASE WHEN open AND (o.nextAttemptAt IS NULL OR o.shard IS NULL OR NOT o.store IN $connectedStores) THEN 'never_due' END,
  CASE WHEN o.state = 'settled' AND o.nextAttemptAt IS NOT NULL THEN 'still_due' END
] WHERE fault IS NOT NULL] AS faults
WITH max(o.outcomeId) AS pageLast, collect({identity: o.outcomeId, faults: faults}) AS rows
RETURN pageLast, [row IN rows WHERE size(row.faults) > 0] AS page
