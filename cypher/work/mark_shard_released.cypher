// name:    mark_shard_released
// does:    Gives a lease back before its time, if it is still the holder's.
// access:  write
// params:  storeId STRING, shard INTEGER, holder STRING, epoch INTEGER
// returns: released INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek(Locking)
MATCH (held:WorkShard {storeId: $storeId, shard: $shard})
SET held:WorkShard
WITH collect(held) AS locked
UNWIND locked AS w
WITH w
WHERE w.holder = $holder AND w.epoch = $epoch
SET w.until = 0
RETURN count(*) AS released
