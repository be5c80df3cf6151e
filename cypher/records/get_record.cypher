// name:    get_record
// does:    One record or tombstone with what its envelope shows of the graph around it. Isolation is in the query: what
//          the caller may not see is not there, and neighbours that the caller may not see are left out.
// access:  read
// params:  identity STRING, tenants LIST<STRING>, purpose STRING, grants LIST<STRING>, states LIST<STRING>,
//          tenantId STRING, neighboursMax INTEGER, audits BOOLEAN
// returns: identity STRING, isTombstone BOOLEAN, deletedAt INTEGER, reasonCode STRING, policyRef STRING, tenantId STRING, class STRING,
//          kind STRING, state STRING, fenced BOOLEAN, purposes LIST<STRING>, permissions LIST<STRING>,
//          observedAt INTEGER, expiresAt INTEGER, envelope STRING, contradicts LIST<STRING>, supersedes LIST<STRING>,
//          supersededBy LIST<STRING>, olderVersions INTEGER, downstream LIST<STRING>, sources LIST<MAP>
// bound:   one row; downstream and sources hold at most neighboursMax of its own neighbours
// plan:    NodeUniqueIndexSeek
MATCH (n:Identity {identity: $identity})
WHERE (n:Record AND n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
       AND any(grant IN $grants WHERE grant IN n.permissions))
   OR (n.state = 'retained' AND $audits AND n.tenantId = $tenantId AND EXISTS {
        MATCH (n)<-[:OUTCOME_FOR]-(:Outcome)-[:EXCEPTED_UNDER]->(x:Exception {state: 'open'})
        WHERE $purpose IN x.servesPurposes
      })
   OR (n:Tombstone AND EXISTS { (n)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId}) })
RETURN
  n.identity AS identity, n:Tombstone AS isTombstone, n.deletedAt AS deletedAt, n.reasonCode AS reasonCode,
  n.policyRef AS policyRef,
  n.tenantId AS tenantId, n.class AS class, n.kind AS kind, n.state AS state, n.fence IS NOT NULL AS fenced,
  n.purposes AS purposes, n.permissions AS permissions, n.observedAt AS observedAt, n.expiresAt AS expiresAt,
  n.envelope AS envelope,
  COLLECT {
    MATCH (n)-[:CONTRADICTS]-(m:Record)
    WHERE m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes AND any(grant IN $grants WHERE grant IN m.permissions)
    RETURN DISTINCT m.identity
  } AS contradicts,
  COLLECT {
    MATCH (n)-[:SUPERSEDES]->(m:Identity)
    WHERE m:Tombstone
       OR (m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes AND any(grant IN $grants WHERE grant IN m.permissions))
    RETURN m.identity
  } AS supersedes,
  COLLECT {
    MATCH (n)<-[:SUPERSEDES]-(m:Identity)
    WHERE m:Tombstone
       OR (m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes AND any(grant IN $grants WHERE grant IN m.permissions))
    RETURN m.identity
  } AS supersededBy,
  COUNT { (n)-[:SUPERSEDES]->() } AS olderVersions,
  COLLECT {
    MATCH (n)<-[:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM|PROJECTED_FROM
              |PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM]-(m:Record)
    WHERE m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes AND any(grant IN $grants WHERE grant IN m.permissions)
    RETURN DISTINCT m.identity LIMIT $neighboursMax
  } AS downstream,
  COLLECT {
    MATCH (n)-[e:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM|PROJECTED_FROM
                |PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM]->(m:Identity)
    WHERE m:Tombstone
       OR (m.tenantId IN $tenants AND m.state IN $states AND $purpose IN m.purposes AND any(grant IN $grants WHERE grant IN m.permissions))
    RETURN {identity: m.identity, edge: type(e), deleted: m:Tombstone} LIMIT $neighboursMax
  } AS sources
