// name:    list_supersession_faults
// does:    A page of identities, and of them those with more than one successor that is still a record, those that say that
//          they have a successor and have none, and those that still serve beside a successor that serves.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: pageLast STRING, forked LIST<STRING>, unsucceeded LIST<STRING>, outlived LIST<STRING>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n,
  COUNT { (n)<-[:SUPERSEDES]-(:Record) } > 1 AS forked,
  n:Record AND n.state = 'superseded' AND NOT EXISTS { (n)<-[:SUPERSEDES]-(:Identity) } AS unsucceeded,
  n:Record AND n.state = 'active' AND EXISTS { (n)<-[:SUPERSEDES]-(:Record {state: 'active'}) } AS outlived
RETURN max(n.identity) AS pageLast,
  collect(CASE WHEN forked THEN n.identity END) AS forked,
  collect(CASE WHEN unsucceeded THEN n.identity END) AS unsucceeded,
  collect(CASE WHEN outlived THEN n.identity END) AS outlived
