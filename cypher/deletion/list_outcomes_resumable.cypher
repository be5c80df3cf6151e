// name:    list_outcomes_resumable
// does:    Nodes whose outcome in the graph is not the last word: retained under a hold that is active no longer, or found
//          to be otherwise than their outcome said.
// access:  read
// params:  requestId STRING
// returns: nodes LIST<MAP>
// bound:   the retained and failed outcomes of one request
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})-[:HAS_OUTCOME]->(o:Outcome {store: 'graph'})-[:OUTCOME_FOR]->(d:Identity)
WHERE o.outcome = 'failed'
   OR (o.outcome = 'retained_under_exception' AND o.basis = 'hold'
       AND NOT EXISTS { (d)-[:HELD_UNDER]->(:Hold {holdId: o.ground, state: 'active'}) })
RETURN collect({identity: d.identity, depth: o.depth}) AS nodes
