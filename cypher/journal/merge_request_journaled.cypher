// name:    merge_request_journaled
// does:    Brings back a deletion that the journal tells of: the request of that scope that is there, or a new one; what is
//          not there of its scope gets its tombstone with the removal's own entry.
// access:  write
// params:  scopeKey STRING, request MAP, scope LIST<STRING>
// returns: requestId STRING
// bound:   one request, size(scope) edges
// plan:    NodeUniqueIndexSeek
MERGE (q:Request {scopeKey: $scopeKey})
ON CREATE SET q:Deletion, q += $request
WITH q
CALL (q) {
  UNWIND $scope AS identity
  MATCH (n:Identity {identity: identity})
  MERGE (q)-[:TARGETS]->(n)
}
RETURN q.requestId AS requestId
