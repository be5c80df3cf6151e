// name:    list_tombstones
// does:    The tombstones of the graph in pages, for a journal that begins on a graph with a past.
// access:  read
// params:  after STRING, rowsMax INTEGER
// returns: tombstones LIST<MAP>
// order:   identity
// bound:   rowsMax tombstones
// plan:    NodeUniqueIndexSeekByRange
MATCH (t:Identity)
WHERE t.identity > $after AND t:Tombstone
WITH t
ORDER BY t.identity
LIMIT $rowsMax
RETURN collect(t {.identity, .deletedAt, .reasonCode, .policyRef}) AS tombstones
