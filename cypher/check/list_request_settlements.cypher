// name:    list_request_settlements
// does:    A page of requests with what a finished one must not lack: targets and derivatives without an outcome of this
//          request, outcomes without an answer, failures and who owns them; what one that says that its walk has come to
//          its end must not lack: targets and derivatives under the fence; and whether it waits, and for how many.
// access:  read
// params:  after STRING, rowsMax INTEGER, deletionTypes LIST<STRING>, answers LIST<STRING>, endedStates LIST<STRING>
// returns: pageLast STRING, page LIST<MAP>
// order:   requestId
// bound:   one row for a page of at most rowsMax requests
// plan:    NodeUniqueIndexSeekByRange
MATCH (r:Request)
WHERE r.requestId > $after
WITH r ORDER BY r.requestId LIMIT $rowsMax
WITH r, {
  requestId: r.requestId,
  state: r.state,
  policyId: r.policyId,
  waiting: coalesce(r.waiting, false),
  propagated: r.propagatedAt IS NOT NULL,
  scope: coalesce(size(r.scope), 0),
  targets: COUNT { (r)-[:TARGETS]->(:Identity) },
  foreign: COUNT { MATCH (r)-[:TARGETS]->(n:Record) WHERE n.tenantId <> r.tenantId },
  pending: COUNT { MATCH (r)-[:HAS_OUTCOME]->(o:Outcome) WHERE o.state IN ['pending', 'retrying'] },
  unfenced: COUNT {
    MATCH (r)-[:HAS_OUTCOME]->(:Outcome)-[:OUTCOME_FOR]->(:Identity)<-[e]-(n:Record)
    WHERE type(e) IN $deletionTypes AND n.fence IS NULL
  },
  untouched: COUNT {
    MATCH (r)-[:TARGETS]->(n:Identity)
    WHERE NOT EXISTS { MATCH (n)<-[:OUTCOME_FOR]-(o:Outcome) WHERE o.requestId = r.requestId }
  },
  forgotten: COUNT {
    MATCH (r)-[:HAS_OUTCOME]->(:Outcome)-[:OUTCOME_FOR]->(:Identity)<-[e]-(n:Record)
    WHERE type(e) IN $deletionTypes
      AND NOT EXISTS { MATCH (n)<-[:OUTCOME_FOR]-(o:Outcome) WHERE o.requestId = r.requestId }
  },
  undecided: COUNT {
    MATCH (r)-[:HAS_OUTCOME]->(o:Outcome)
    WHERE o.outcome IS NULL OR NOT o.outcome IN $answers OR o.state IS NULL OR NOT o.state IN $endedStates
  },
  owners: COLLECT {
    MATCH (r)-[:HAS_OUTCOME]->(o:Outcome)
    WHERE o.outcome = 'failed'
    RETURN DISTINCT coalesce(o.ownerId, '')
  }
} AS settlement
RETURN max(r.requestId) AS pageLast, collect({settlement: settlement}) AS page
