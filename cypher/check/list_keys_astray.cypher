// name:    list_keys_astray
// does:    How many idempotency keys lead to no request and no hold, by tenant, with the keyed hash of what one was used for:
//          the key itself is its caller's word.
// access:  read
// params:  none
// returns: occurrences INTEGER, example STRING
// order:   tenantId
// bound:   one row a tenant, in one pass over all keys
// plan:    NodeByLabelScan
MATCH (k:IdempotencyKey)
WHERE NOT EXISTS { MATCH (r:Request) WHERE r.requestId = k.result }
  AND NOT EXISTS { MATCH (h:Hold) WHERE h.holdId = k.result }
WITH k.tenantId AS tenantId, count(*) AS occurrences, min(coalesce(k.fingerprint, elementId(k))) AS example
RETURN occurrences, example
ORDER BY tenantId
