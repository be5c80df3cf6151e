// name:    lock_journal
// does:    Write-locks the mark of the journal, so that what is journaled commits in the order of its entries.
// access:  write
// params:  journalId STRING
// returns: sequence INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
MATCH (held:Journal {journalId: $journalId})
SET held:Journal
WITH collect(held) AS locked
UNWIND locked AS j
RETURN j.sequence AS sequence
