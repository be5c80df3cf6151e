// name:    list_supersession_forks
// does:    A page of identities; the offenders have more than one successor.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: pageLast STRING, offenders LIST<STRING>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n ORDER BY n.identity LIMIT $rowsMax
WITH n, COUNT { (n)<-[:SUPERSEDES]-() } > 1 AS offends
RETURN max(n.identity) AS pageLast, collect(CASE WHEN offends THEN n.identity END) AS offenders
