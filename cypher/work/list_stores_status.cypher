// name:    list_stores_status
// does:    What is left to do in each of the given stores: outcomes that wait, that are tried again, that have an owner, how
//          many of all are due, since when the oldest is, and when a deletion there was last verified.
// access:  read
// params:  storeIds LIST<STRING>, now INTEGER
// returns: stores LIST<MAP>
// bound:   the outcomes with work left in these stores
// plan:    NodeIndexSeek
UNWIND $storeIds AS storeId
CALL (storeId) {
  OPTIONAL MATCH (o:Outcome)
  WHERE o.store = storeId AND o.shard >= 0 AND o.nextAttemptAt >= 0
  RETURN count(CASE WHEN o.state = 'pending' THEN 1 END) AS pending,
    count(CASE WHEN o.state = 'retrying' THEN 1 END) AS retrying,
    count(CASE WHEN o.state = 'owned' THEN 1 END) AS owned,
    count(CASE WHEN o.nextAttemptAt <= $now THEN 1 END) AS due,
    min(o.nextAttemptAt) AS oldestDueAt
}
CALL (storeId) {
  OPTIONAL MATCH (w:WorkShard)
  WHERE w.storeId = storeId AND w.shard >= 0
  RETURN max(w.verifiedAt) AS verifiedAt
}
RETURN collect({
  storeId: storeId,
  pending: pending,
  retrying: retrying,
  owned: owned,
  due: due,
  oldestDueAt: oldestDueAt,
  verifiedAt: verifiedAt
}) AS stores
