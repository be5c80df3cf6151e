// name:    merge_tombstones_journaled
// does:    Makes sure of tombstones that the journal tells of: what is there as a record loses everything, what is not there
//          is made, and one that was made anew gets back the time of its first deletion.
// access:  write
// params:  rows LIST<MAP>
// returns: removed INTEGER
// order:   locks are taken in the order of the rows; the caller sorts them by identity
// bound:   size(rows) nodes
// plan:    NodeUniqueIndexSeek
UNWIND $rows AS row
MERGE (held:Identity {identity: row.identity})
SET held:Identity
WITH collect({row: row, node: held}) AS locked
UNWIND locked AS entry
WITH entry.row AS row, entry.node AS d
WITH row, d, CASE WHEN d:Record THEN 1 ELSE 0 END AS removed
FOREACH (_ IN CASE WHEN NOT d:Tombstone OR d.deletedAt > row.deletedAt THEN [1] ELSE [] END |
  REMOVE d:Record
  SET d:Tombstone
  SET d = row
)
RETURN sum(removed) AS removed
