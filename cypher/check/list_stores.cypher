// name:    list_stores
// does:    Every store that copies are in, or were.
// access:  read
// params:  none
// returns: storeId STRING
// order:   storeId
// bound:   one row a store
// plan:    NodeByLabelScan
MATCH (s:Store)
WHERE EXISTS { (s)<-[:STORED_IN]-() }
RETURN s.storeId AS storeId
ORDER BY storeId
