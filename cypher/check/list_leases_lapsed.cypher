// name:    list_leases_lapsed
// does:    Leases that ran out by an instant and that nobody gave back, each as store and shard.
// access:  read
// params:  now INTEGER
// returns: leases LIST<STRING>
// order:   storeId, shard
// bound:   the shards of all stores
// plan:    NodeByLabelScan
MATCH (w:WorkShard)
WHERE w.until > 0 AND w.until <= $now
WITH w ORDER BY w.storeId, w.shard
RETURN collect(w.storeId + '/' + toString(w.shard)) AS leases
