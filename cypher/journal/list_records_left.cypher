// name:    list_records_left
// does:    Of identities whose content the journal says was taken away, those that are there as records and have it.
// access:  read
// params:  identities LIST<STRING>
// returns: identities LIST<STRING>
// bound:   size(identities) nodes
// plan:    NodeUniqueIndexSeek
UNWIND $identities AS wanted
MATCH (d:Identity {identity: wanted})
WHERE d:Record AND d.state <> 'invalidated'
RETURN collect(d.identity) AS identities
