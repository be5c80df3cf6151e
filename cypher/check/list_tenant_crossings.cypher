// name:    list_tenant_crossings
// does:    A page of identities; from an offender an edge leads to a record of another tenant that is no shared source, or
//          by a type that may not cross.
// access:  read
// params:  after STRING, rowsMax INTEGER, crossingTypes LIST<STRING>, sharedScopes LIST<STRING>
// returns: pageLast STRING, offenders LIST<STRING>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n, n:Record AND EXISTS {
  MATCH (n)-[e]->(m:Record)
  WHERE m.tenantId <> n.tenantId AND NOT (type(e) IN $crossingTypes AND m.tenantId IN $sharedScopes)
} AS offends
RETURN max(n.identity) AS pageLast, collect(CASE WHEN offends THEN n.identity END) AS offenders
