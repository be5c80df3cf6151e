// name:    mark_fenced
// does:    Fences records for a request: no registration can hang on them any more. Write-locks first and reads again
//          under the lock, so that a tombstone never gets the mark.
// access:  write
// params:  identities LIST<STRING>, requestId STRING
// returns: fenced INTEGER
// order:   locks are taken in the order of the list; the caller sorts it
// bound:   size(identities) nodes
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
UNWIND $identities AS wanted
MATCH (held:Identity {identity: wanted})
SET held:Identity
WITH collect(held) AS locked
UNWIND locked AS d
WITH d
WHERE d:Record AND d.fence IS NULL
SET d.fence = $requestId
RETURN count(*) AS fenced
