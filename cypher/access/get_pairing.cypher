// name:    get_pairing
// does:    What the database says of the identity key that it was filled under, and of one policy version.
// access:  read
// params:  policyId STRING
// returns: checkValue STRING, policyDigest STRING
// bound:   one row
// plan:    NodeUniqueIndexSeek
OPTIONAL MATCH (v:SchemaVersion {step: 'identity_key'})
OPTIONAL MATCH (p:Policy {policyId: $policyId})
RETURN v.digest AS checkValue, p.digest AS policyDigest
