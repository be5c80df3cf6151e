// name:    merge_schema_version
// does:    Marks a step of the schema as applied.
// access:  write
// params:  step STRING, digest STRING, at INTEGER
// returns: step STRING
// bound:   one node
// plan:    NodeUniqueIndexSeek
MERGE (v:SchemaVersion {step: $step})
ON CREATE SET v.digest = $digest, v.appliedAt = $at
RETURN v.step AS step
