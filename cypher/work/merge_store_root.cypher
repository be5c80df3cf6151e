// name:    merge_store_root
// does:    Pairs a store with the root that it was first used with; answers that root's id, or null where it has none yet.
// access:  write
// params:  storeId STRING, rootId STRING
// returns: rootId STRING
// bound:   one node
// plan:    NodeUniqueIndexSeek
MATCH (s:Store {storeId: $storeId})
SET s.rootId = coalesce(s.rootId, $rootId)
RETURN s.rootId AS rootId
