// name:    list_records_by_source
// does:    The records of one source in a tenant that are of the named kinds, found by keyed hash;
//          those in quarantine always, since what kind they would have been is only claimed.
// access:  read
// params:  tenantId STRING, key STRING, kinds LIST<STRING>, rowsMax INTEGER
// returns: identities LIST<STRING>
// bound:   rowsMax identities
// plan:    NodeIndexSeek
MATCH (n:Record {tenantId: $tenantId, sourceKey: $key})
WHERE n.kind IN $kinds OR n.state = 'quarantined'
WITH n.identity AS identity
ORDER BY identity
LIMIT $rowsMax
RETURN collect(identity) AS identities
