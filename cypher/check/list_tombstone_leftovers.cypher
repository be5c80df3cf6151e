// name:    list_tombstone_leftovers
// does:    A page of identities; the offenders are tombstones with an edge that still carries properties. A locator may stay
//          while work on an outcome in its store is left.
// access:  read
// params:  after STRING, rowsMax INTEGER, settled STRING
// returns: pageLast STRING, offenders LIST<STRING>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n, n:Tombstone AND EXISTS {
  MATCH (n)-[e]-(m)
  WHERE size(keys(e)) > 0
    AND NOT (type(e) = 'STORED_IN'
             AND EXISTS { MATCH (n)<-[:OUTCOME_FOR]-(o:Outcome) WHERE o.store = m.storeId AND o.state <> $settled })
} AS offends
RETURN max(n.identity) AS pageLast, collect(CASE WHEN offends THEN n.identity END) AS offenders
