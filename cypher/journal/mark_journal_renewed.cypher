// name:    mark_journal_renewed
// does:    Pairs the graph with a new journal where its own is lost, at the place of the given entry.
// access:  write
// params:  lostId STRING, journalId STRING, sequence INTEGER, digest STRING
// returns: renewed INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek
MATCH (j:Journal {journalId: $lostId})
SET j.journalId = $journalId, j.sequence = $sequence, j.digest = $digest
RETURN count(*) AS renewed
