// name:    mark_fenced_beyond
// does:    The gate for a writer that is faster than the walk: locks the tip, and while it holds the locks looks again for
//          what came of it, three times over, before it fences all of it. Between two looks there is no round trip, so that a
//          writer who waits for one at each link falls behind.
// access:  write
// params:  identities LIST<STRING>, requestId STRING, edgeTypes LIST<STRING>
// returns: fenced INTEGER
// order:   locks are taken in the order of the list, then by distance from it
// bound:   what came of size(identities) nodes since the walk that found them
// plan:    NodeUniqueIndexSeek(Locking) · VarLengthExpand(Pruning,BFS · SetLabels · EagerAggregation
UNWIND $identities AS wanted
MATCH (held:Identity {identity: wanted})
SET held:Identity
WITH collect(held) AS tip
CALL (tip) {
  UNWIND tip AS near
  MATCH (near)<-[steps*1..]-(far)
  WHERE all(step IN steps WHERE type(step) IN $edgeTypes)
  WITH DISTINCT far
  WHERE far:Record AND far.fence IS NULL
  WITH far
  ORDER BY far.identity
  SET far:Identity
  RETURN collect(far) AS first
}
CALL (first) {
  UNWIND first AS near
  MATCH (near)<-[steps*1..]-(far)
  WHERE all(step IN steps WHERE type(step) IN $edgeTypes)
  WITH DISTINCT far
  WHERE far:Record AND far.fence IS NULL
  WITH far
  ORDER BY far.identity
  SET far:Identity
  RETURN collect(far) AS second
}
CALL (second) {
  UNWIND second AS near
  MATCH (near)<-[steps*1..]-(far)
  WHERE all(step IN steps WHERE type(step) IN $edgeTypes)
  WITH DISTINCT far
  WHERE far:Record AND far.fence IS NULL
  WITH far
  ORDER BY far.identity
  SET far:Identity
  RETURN collect(far) AS third
}
UNWIND tip + first + second + third AS d
WITH DISTINCT d
WHERE d:Record AND d.fence IS NULL
SET d.fence = $requestId
RETURN count(*) AS fenced
