// name:    count_outcomes
// does:    The outcomes of a request, counted by store, outcome, state and verification level.
// access:  read
// params:  requestId STRING
// returns: store STRING, outcome STRING, state STRING, level STRING, number INTEGER
// bound:   one row a combination
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})-[:HAS_OUTCOME]->(o:Outcome)
RETURN o.store AS store, o.outcome AS outcome, o.state AS state, o.verificationLevel AS level, count(*) AS number
