// name:    mark_journal
// does:    Marks the journal as applied up to the given entry; never back.
// access:  write
// params:  journalId STRING, sequence INTEGER, digest STRING
// returns: marked INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek
MATCH (j:Journal {journalId: $journalId})
WHERE j.sequence < $sequence
SET j.sequence = $sequence, j.digest = $digest
RETURN count(*) AS marked
