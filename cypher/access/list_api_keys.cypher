// name:    list_api_keys
// does:    The API keys after a given one, revoked ones included, without the hashes of their secrets.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: keyId STRING, tenantId STRING, roles LIST<STRING>, principalId STRING, purposes LIST<STRING>,
//          createdAt INTEGER, revokedAt INTEGER
// order:   keyId
// bound:   rowsMax rows
// plan:    NodeUniqueIndexSeekByRange
MATCH (k:ApiKey)
WHERE k.keyId > $after
RETURN k.keyId AS keyId, k.tenantId AS tenantId, k.roles AS roles, k.principalId AS principalId,
  k.purposes AS purposes, k.createdAt AS createdAt, k.revokedAt AS revokedAt
ORDER BY keyId
LIMIT $rowsMax
