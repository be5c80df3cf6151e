// name:    mark_leases_released
// does:    Gives back leases that ran out by an instant, judged anew under their locks. Whoever held one could take it again,
//          and so can everybody else; the epoch stays, so nothing that was refused before is taken now. Answers which.
// access:  write
// params:  now INTEGER
// returns: released LIST<STRING>
// bound:   the shards of all stores
// plan:    NodeByLabelScan · SetLabels · EagerAggregation
MATCH (held:WorkShard)
WHERE held.until > 0 AND held.until <= $now
SET held:WorkShard
WITH collect(held) AS locked
UNWIND locked AS w
WITH w
WHERE w.until > 0 AND w.until <= $now
WITH w ORDER BY w.storeId, w.shard
WITH collect(w) AS lapsed
FOREACH (w IN lapsed | SET w.until = 0)
RETURN [w IN lapsed | w.storeId + '/' + toString(w.shard)] AS released
