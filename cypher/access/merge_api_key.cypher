// name:    merge_api_key
// does:    Stores one API key by its id; a repeat finds the first and changes nothing.
// access:  write
// params:  keyId STRING, secretHash STRING, tenantId STRING, roles LIST<STRING>, principalId STRING,
//          purposes LIST<STRING>, at INTEGER
// returns: keyId STRING
// bound:   one node
// plan:    NodeUniqueIndexSeek
MERGE (k:ApiKey {keyId: $keyId})
ON CREATE SET
  k.secretHash = $secretHash,
  k.tenantId = $tenantId,
  k.roles = $roles,
  k.principalId = $principalId,
  k.purposes = $purposes,
  k.createdAt = $at
RETURN k.keyId AS keyId
