// name:    merge_journal
// does:    Pairs the graph with its journal, at the place of the given entry where it is new to it.
// access:  write
// params:  journalId STRING, sequence INTEGER, digest STRING
// returns: sequence INTEGER
// bound:   one node
// plan:    NodeUniqueIndexSeek
MERGE (j:Journal {journalId: $journalId})
ON CREATE SET j.sequence = $sequence, j.digest = $digest
RETURN j.sequence AS sequence
