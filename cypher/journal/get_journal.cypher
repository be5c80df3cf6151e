// name:    get_journal
// does:    How far the graph is in its journal; without rows where it never had one.
// access:  read
// params:  none
// returns: journalId STRING, sequence INTEGER, digest STRING
// order:   sequence, highest first
// bound:   one row
// plan:    NodeByLabelScan
MATCH (j:Journal)
RETURN j.journalId AS journalId, j.sequence AS sequence, j.digest AS digest
ORDER BY sequence DESC
LIMIT 1
