// name:    list_outcomes_missing
// does:    Of the given outcome ids, those that have no outcome yet.
// access:  read
// params:  outcomeIds LIST<STRING>
// returns: missing LIST<STRING>
// bound:   size(outcomeIds) ids
// plan:    NodeUniqueIndexSeek
UNWIND $outcomeIds AS wanted
OPTIONAL MATCH (o:Outcome {outcomeId: wanted})
WITH wanted, o
WHERE o IS NULL
RETURN collect(wanted) AS missing
