// does: One lease per shard of a store.
CREATE CONSTRAINT work_shard_unique IF NOT EXISTS
FOR (n:WorkShard) REQUIRE (n.storeId, n.shard) IS UNIQUE
