// name:    list_collection
// does:    The records of one source in a tenant that a caller may see and that no deletion has fenced, and whether there are others.
// access:  read
// params:  tenantId STRING, key STRING, purpose STRING, grants LIST<STRING>, states LIST<STRING>
// returns: identities LIST<STRING>, withheld BOOLEAN
// bound:   one row; the records of the source
// plan:    NodeIndexSeek
MATCH (n:Record {tenantId: $tenantId, sourceKey: $key})
WITH n,
  n.fence IS NULL AND n.state IN $states AND $purpose IN n.purposes
    AND any(grant IN $grants WHERE grant IN n.permissions) AS shown
RETURN
  collect(CASE WHEN shown THEN n.identity END) AS identities,
  count(CASE WHEN shown THEN null ELSE 1 END) > 0 AS withheld
