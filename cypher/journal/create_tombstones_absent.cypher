// name:    create_tombstones_absent
// does:    Makes the tombstones of records that the graph never had, as the journal tells of them; what is there stays.
// access:  write
// params:  rows LIST<MAP>
// returns: created LIST<STRING>
// bound:   size(rows) nodes
// plan:    NodeUniqueIndexSeek
UNWIND $rows AS row
OPTIONAL MATCH (there:Identity {identity: row.identity})
WITH row, there
WHERE there IS NULL
CREATE (t:Identity:Tombstone)
SET t = row
RETURN collect(t.identity) AS created
