// name:    merge_targets
// does:    Ties a request to everything that it is for. What the graph does not have, since it was restored from a time
//          before, gets its tombstone: whatever brings it back later is refused.
// access:  write
// params:  requestId STRING, rows LIST<MAP>
// returns: created LIST<STRING>
// bound:   size(rows) nodes
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})
UNWIND $rows AS row
OPTIONAL MATCH (there:Identity {identity: row.identity})
WITH q, row, there
CALL (row, there) {
  WITH row, there
  WHERE there IS NULL
  CREATE (t:Identity:Tombstone)
  SET t = row
  RETURN t AS target, true AS created
  UNION
  WITH there
  WHERE there IS NOT NULL
  RETURN there AS target, false AS created
}
MERGE (q)-[:TARGETS]->(target)
WITH collect({identity: target.identity, created: created}) AS targets
RETURN [one IN targets WHERE one.created | one.identity] AS created
