// name:    list_exception_faults
// does:    A page of the exception ledger, and of it the entries of no outcome, those that say something else than their
//          outcome, and the open ones whose owner the policy does not know; each with the names of its faults.
// access:  read
// params:  after STRING, rowsMax INTEGER, owners LIST<STRING>
// returns: pageLast STRING, page LIST<MAP>
// order:   exceptionId
// bound:   one row for a page of at most rowsMax entries
// plan:    NodeUniqueIndexSeekByRange
MATCH (x:Exception)
WHERE x.exceptionId > $after
WITH x ORDER BY x.exceptionId LIMIT $rowsMax
WITH x, [fault IN [
  CASE WHEN COUNT { (x)<-[:EXCEPTED_UNDER]-(:Outcome) } <> 1 THEN 'no_outcome' END,
  CASE WHEN EXISTS {
    MATCH (x)<-[:EXCEPTED_UNDER]-(o:Outcome)
    WHERE o.requestId <> x.requestId OR o.identity <> x.identity OR o.store <> x.store
  } THEN 'other_outcome' END,
  CASE WHEN x.state = 'open' AND NOT coalesce(x.ownerId, '') IN $owners THEN 'unknown_owner' END
] WHERE fault IS NOT NULL] AS faults
WITH max(x.exceptionId) AS pageLast, collect({identity: x.exceptionId, faults: faults}) AS rows
RETURN pageLast, [row IN rows WHERE size(row.faults) > 0] AS page
