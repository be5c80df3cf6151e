// name:    get_api_key
// does:    One API key that was not revoked, with the hash of its secret.
// access:  read
// params:  keyId STRING
// returns: secretHash STRING, tenantId STRING, roles LIST<STRING>, principalId STRING, purposes LIST<STRING>
// bound:   one row
// plan:    NodeUniqueIndexSeek
MATCH (k:ApiKey {keyId: $keyId})
WHERE k.revokedAt IS NULL
RETURN k.secretHash AS secretHash, k.tenantId AS tenantId, k.roles AS roles, k.principalId AS principalId,
  k.purposes AS purposes
