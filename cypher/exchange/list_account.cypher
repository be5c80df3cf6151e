// name:    list_account
// does:    A page of identities, with the work that made each and what it was made of: records that a caller may see, and
//          what a deletion of the tenant ended. No content and no names.
// access:  read
// params:  after STRING, rowsMax INTEGER, derivations LIST<STRING>, store STRING, tenantId STRING, tenants LIST<STRING>,
//          purpose STRING, grants LIST<STRING>, states LIST<STRING>
// returns: pageLast STRING, withheld BOOLEAN, rows LIST<MAP>
// order:   identity
// bound:   one row for a page of at most rowsMax identities
// plan:    NodeUniqueIndexSeekByRange
MATCH (n:Identity)
WHERE n.identity > $after
WITH n
ORDER BY n.identity
LIMIT $rowsMax
OPTIONAL CALL (n) {
  MATCH (n)<-[:OUTCOME_FOR]-(o:Outcome)<-[:HAS_OUTCOME]-(q:Request {tenantId: $tenantId})
  WHERE (n:Tombstone OR n.state = 'invalidated') AND o.store = $store AND o.outcome IN ['deleted', 'invalidated']
  RETURN q AS request, o.decidedAt AS decidedAt
  ORDER BY o.outcome, decidedAt
  LIMIT 1
}
WITH n, request, decidedAt,
  request IS NOT NULL OR (n:Record AND n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
    AND any(grant IN $grants WHERE grant IN n.permissions)) AS shown
RETURN
  max(n.identity) AS pageLast,
  count(CASE WHEN n.tenantId = $tenantId AND NOT shown THEN 1 END) > 0 AS withheld,
  collect(CASE WHEN shown THEN {
    identity: n.identity,
    kind: CASE WHEN request IS NULL THEN n.kind END,
    envelope: CASE WHEN request IS NULL THEN n.envelope END,
    endedAt: coalesce(n.deletedAt, decidedAt),
    requestId: request.requestId,
    receivedAt: request.receivedAt,
    finishedAt: request.finishedAt,
    work: COLLECT {
      MATCH (n)-[:PRODUCED_BY]->(o:Operation)
      RETURN {operationId: o.operationId, type: o.type, at: o.at, shared: COUNT { (o)<-[:PRODUCED_BY]-() } > 1}
    },
    sources: COLLECT {
      MATCH (n)-[e]->(m:Identity)
      WHERE type(e) IN $derivations AND (
        EXISTS { (m)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId}) }
        OR (m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes
          AND any(grant IN $grants WHERE grant IN m.permissions))
      )
      RETURN {edge: type(e), identity: m.identity}
    }
  } END) AS rows
