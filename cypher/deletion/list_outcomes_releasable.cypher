// name:    list_outcomes_releasable
// does:    Nodes that a request retained under a hold that is active no longer.
// access:  read
// params:  requestId STRING
// returns: nodes LIST<MAP>
// bound:   the retained outcomes of one request
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})-[:HAS_OUTCOME]->(o:Outcome {store: 'graph', outcome: 'retained_under_exception'})
MATCH (o)-[:OUTCOME_FOR]->(d:Identity)
WHERE o.basis = 'hold' AND NOT EXISTS { (d)-[:HELD_UNDER]->(:Hold {holdId: o.ground, state: 'active'}) }
RETURN collect({identity: d.identity, depth: o.depth}) AS nodes
