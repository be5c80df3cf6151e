// name:    create_exceptions
// does:    Enters retained and failed derivatives in the exception ledger, once each.
// access:  write
// params:  rows LIST<MAP>
// returns: entered INTEGER
// bound:   size(rows) entries
// plan:    NodeUniqueIndexSeek
UNWIND $rows AS row
MATCH (o:Outcome {outcomeId: row.outcomeId})
MERGE (x:Exception {exceptionId: row.exceptionId})
SET x += row.entry
SET x.identity = o.identity
MERGE (o)-[:EXCEPTED_UNDER]->(x)
RETURN count(*) AS entered
