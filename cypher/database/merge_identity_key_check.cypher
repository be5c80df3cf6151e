// name:    merge_identity_key_check
// does:    Pairs the database with the identity key that was used first; answers that key's check value.
// access:  write
// params:  checkValue STRING
// returns: checkValue STRING
// bound:   one node
// plan:    NodeUniqueIndexSeek
MERGE (v:SchemaVersion {step: 'identity_key'})
ON CREATE SET v.digest = $checkValue
RETURN v.digest AS checkValue
