// name:    purge_journal
// does:    Takes away the mark of a journal that is lost, so that the graph can be paired with a new one.
// access:  write
// params:  journalId STRING
// returns: purged INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek
MATCH (j:Journal {journalId: $journalId})
DELETE j
RETURN count(*) AS purged
