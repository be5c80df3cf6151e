// name:    merge_deletion
// does:    Files a deletion once: the same scope in the same tenant meets the request that is there, and so does the same
//          idempotency key. Nothing is removed.
// access:  write
// params:  scopeKey STRING, request MAP, scope LIST<STRING>, tenantId STRING, key STRING, fingerprint STRING,
//          at INTEGER
// returns: requestId STRING, keyFingerprint STRING
// bound:   one request, one key, size(scope) edges
// plan:    NodeUniqueIndexSeek
MERGE (k:IdempotencyKey {tenantId: $tenantId, key: $key})
ON CREATE SET k.fingerprint = $fingerprint, k.createdAt = $at
WITH k
CALL (k) {
  WITH k
  WHERE k.fingerprint = $fingerprint
  MERGE (q:Request {scopeKey: $scopeKey})
  ON CREATE SET q:Deletion, q += $request
  WITH k, q
  SET k.result = coalesce(k.result, q.requestId)
  WITH q
  CALL (q) {
    UNWIND $scope AS identity
    MATCH (n:Identity {identity: identity})
    MERGE (q)-[:TARGETS]->(n)
  }
  RETURN q.requestId AS requestId
}
RETURN requestId, k.fingerprint AS keyFingerprint
