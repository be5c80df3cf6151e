// name:    list_exceptions
// does:    Entries of the exception ledger of a tenant, open and ended, after a place in the order.
// access:  read
// params:  tenantId STRING, after STRING, rowsMax INTEGER
// returns: entries LIST<MAP>
// order:   exceptionId
// bound:   rowsMax entries
// plan:    NodeIndexSeek
MATCH (x:Exception {tenantId: $tenantId})
WHERE x.exceptionId > $after
WITH x
ORDER BY x.exceptionId
LIMIT $rowsMax
RETURN collect(properties(x)) AS entries
