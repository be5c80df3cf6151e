// name:    list_schema_versions
// does:    The steps of the schema that are applied.
// access:  read
// params:  none
// returns: step STRING, digest STRING
// order:   step
// bound:   one row a step of the schema
// plan:    NodeByLabelScan
MATCH (v:SchemaVersion)
WHERE v.appliedAt IS NOT NULL
RETURN v.step AS step, v.digest AS digest
ORDER BY step
