// name:    get_idempotency_key
// does:    What an idempotency key of a tenant was used for.
// access:  read
// params:  tenantId STRING, key STRING
// returns: fingerprint STRING, result STRING
// bound:   one row
// plan:    NodeUniqueIndexSeek
MATCH (k:IdempotencyKey {tenantId: $tenantId, key: $key})
RETURN k.fingerprint AS fingerprint, k.result AS result
