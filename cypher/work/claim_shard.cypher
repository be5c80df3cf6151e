// name:    claim_shard
// does:    Takes or renews the lease on one shard of a store; a new holder gets a new epoch, by which late writes of the
//          old one are refused. A lease that ends after untilMax is nobody's: it was taken by a clock that ran ahead.
// access:  write
// params:  storeId STRING, shard INTEGER, holder STRING, now INTEGER, until INTEGER, untilMax INTEGER
// returns: epoch INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek(Locking)
MERGE (held:WorkShard {storeId: $storeId, shard: $shard})
ON CREATE SET held.epoch = 0, held.until = 0, held.holder = ''
SET held:WorkShard
WITH collect(held) AS locked
UNWIND locked AS w
WITH w, w.holder AS holderBefore, w.epoch AS epochBefore
WHERE w.until <= $now OR w.until > $untilMax OR w.holder = $holder
SET w.holder = $holder, w.until = $until,
    w.epoch = CASE WHEN holderBefore = $holder THEN epochBefore ELSE epochBefore + 1 END
RETURN w.epoch AS epoch
