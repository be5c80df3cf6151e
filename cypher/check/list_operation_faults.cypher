// name:    list_operation_faults
// does:    A page of operations, and of them those that made nothing, and those that used something after its deletion; each
//          with the names of its faults.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: pageLast STRING, page LIST<MAP>
// order:   operationId
// bound:   one row for a page of at most rowsMax operations
// plan:    NodeUniqueIndexSeekByRange
MATCH (w:Operation)
WHERE w.operationId > $after
WITH w ORDER BY w.operationId LIMIT $rowsMax
WITH w, [fault IN [
  CASE WHEN NOT EXISTS { (w)<-[:PRODUCED_BY]-(:Identity) } THEN 'made_nothing' END,
  CASE WHEN EXISTS { MATCH (w)-[:USED]->(t:Tombstone) WHERE t.deletedAt < w.at } THEN 'used_late' END
] WHERE fault IS NOT NULL] AS faults
WITH max(w.operationId) AS pageLast, collect({identity: w.operationId, faults: faults}) AS rows
RETURN pageLast, [row IN rows WHERE size(row.faults) > 0] AS page
