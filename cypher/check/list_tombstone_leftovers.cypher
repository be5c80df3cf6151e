// name:    list_tombstone_leftovers
// does:    A page of identities; the offenders are tombstones with an edge that still carries properties, or made by an
//          operation that still tells of its producer though nothing that it made is left. A locator may stay while work on
//          an outcome in its store is left.
// access:  read
// params:  after STRING, rowsMax INTEGER, settled STRING
// returns: pageLast STRING, offenders LIST<STRING>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n, n:Tombstone AND (EXISTS {
  MATCH (n)-[e]-(m)
  WHERE size(keys(e)) > 0
    AND NOT (type(e) = 'STORED_IN'
             AND EXISTS { MATCH (n)<-[:OUTCOME_FOR]-(o:Outcome) WHERE o.store = m.storeId AND o.state <> $settled })
} OR EXISTS {
  MATCH (n)-[:PRODUCED_BY]->(work:Operation)
  WHERE (work.method IS NOT NULL OR work.producerId IS NOT NULL OR work.producerVersion IS NOT NULL)
    AND NOT EXISTS { (work)<-[:PRODUCED_BY]-(live:Record) WHERE live.state <> 'invalidated' }
}) AS offends
RETURN max(n.identity) AS pageLast, collect(CASE WHEN offends THEN n.identity END) AS offenders
