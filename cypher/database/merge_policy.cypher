// name:    merge_policy
// does:    Records a loaded policy bundle version and the stores of its inventory.
// access:  write
// params:  policyId STRING, digest STRING, ownerId STRING, at INTEGER, stores LIST<MAP>
// returns: digest STRING
// bound:   one policy node, size(stores) store nodes
// plan:    NodeUniqueIndexSeek
MERGE (p:Policy {policyId: $policyId})
ON CREATE SET p.digest = $digest, p.ownerId = $ownerId, p.loadedAt = $at
WITH p
CALL () {
  UNWIND $stores AS store
  MERGE (s:Store {storeId: store.storeId})
  SET s.ownerId = store.ownerId
}
RETURN p.digest AS digest
