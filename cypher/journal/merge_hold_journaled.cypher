// name:    merge_hold_journaled
// does:    Brings back a hold that the journal tells of, on those of its records that are there, under their locks.
// access:  write
// params:  identities LIST<STRING>, hold MAP
// returns: held INTEGER
// order:   locks are taken in the order of the list; the caller sorts it
// bound:   one hold, size(identities) edges
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
UNWIND $identities AS identity
MATCH (locked:Identity {identity: identity})
SET locked:Identity
WITH collect(locked) AS nodes
MERGE (h:Hold {holdId: $hold.holdId})
ON CREATE SET h = $hold
WITH [n IN nodes WHERE n:Record AND n.state <> 'invalidated'] AS records, h
UNWIND records AS n
MERGE (n)-[:HELD_UNDER]->(h)
RETURN count(*) AS held
