// name:    merge_hold
// does:    Places a hold on records, once for an idempotency key, under the records' locks: a removal that holds the locks
//          comes first and leaves a tombstone, or reads the hold and keeps the record.
//          A record whose content is gone has nothing left to hold.
// access:  write
// params:  locks LIST<STRING>, tenantId STRING, key STRING, fingerprint STRING, hold MAP, at INTEGER
// returns: holdId STRING, held INTEGER
// order:   locks are taken in the order of the list; the caller sorts it
// bound:   one hold, size(locks) edges
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
UNWIND $locks AS identity
MATCH (locked:Identity {identity: identity})
SET locked:Identity
WITH collect(locked) AS nodes
WITH [n IN nodes WHERE n:Record AND n.tenantId = $tenantId AND n.state <> 'invalidated'] AS records
WHERE size(records) = size($locks)
MERGE (k:IdempotencyKey {tenantId: $tenantId, key: $key})
ON CREATE SET k.fingerprint = $fingerprint, k.createdAt = $at, k.result = $hold.holdId
WITH records, k
WHERE k.fingerprint = $fingerprint
MERGE (h:Hold {holdId: k.result})
ON CREATE SET h = $hold
WITH records, h
UNWIND records AS n
MERGE (n)-[:HELD_UNDER]->(h)
RETURN h.holdId AS holdId, count(*) AS held
