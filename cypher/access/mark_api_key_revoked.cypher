// name:    mark_api_key_revoked
// does:    Revokes one API key; a repeat keeps the first instant.
// access:  write
// params:  keyId STRING, at INTEGER
// returns: revokedAt INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek
MATCH (k:ApiKey {keyId: $keyId})
SET k.revokedAt = coalesce(k.revokedAt, $at)
RETURN k.revokedAt AS revokedAt
