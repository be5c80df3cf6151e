// name:    list_ended
// does:    When and by which deletion of a tenant the given nodes ended, with their edges to others that ended.
// access:  read
// params:  identities LIST<STRING>, edgeTypes LIST<STRING>, tenantId STRING, store STRING
// returns: ended LIST<MAP>
// bound:   size(identities) entries and their edges
// plan:    NodeUniqueIndexSeek
UNWIND $identities AS wanted
MATCH (n:Identity {identity: wanted})
WHERE n:Tombstone OR n.state = 'invalidated'
CALL (n) {
  MATCH (n)<-[:OUTCOME_FOR]-(o:Outcome)<-[:HAS_OUTCOME]-(q:Request {tenantId: $tenantId})
  WHERE o.store = $store AND o.outcome IN ['deleted', 'invalidated']
  RETURN q AS request, o.decidedAt AS decidedAt
  ORDER BY o.outcome, decidedAt
  LIMIT 1
}
RETURN collect({
  identity: n.identity,
  endedAt: coalesce(n.deletedAt, decidedAt),
  requestId: request.requestId,
  receivedAt: request.receivedAt,
  finishedAt: request.finishedAt,
  edges: COLLECT {
    MATCH (n)-[e]->(m:Identity)
    WHERE type(e) IN $edgeTypes AND (m:Tombstone OR m.state = 'invalidated')
    RETURN {edge: type(e), identity: m.identity}
  },
  endedEdges: COLLECT {
    MATCH (n)<-[e]-(m:Identity)
    WHERE type(e) IN $edgeTypes AND (m:Tombstone OR m.state = 'invalidated')
    RETURN {edge: type(e), identity: m.identity}
  }
}) AS ended
