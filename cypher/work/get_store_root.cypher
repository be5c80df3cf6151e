// name:    get_store_root
// does:    The id of the root that a store was first used with; null before that.
// access:  read
// params:  storeId STRING
// returns: rootId STRING
// bound:   one row
// plan:    NodeUniqueIndexSeek
MATCH (s:Store {storeId: $storeId})
RETURN s.rootId AS rootId
