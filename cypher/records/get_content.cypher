// name:    get_content
// does:    The content of one record, for a caller who may see it; never of one that is being deleted.
//          What is kept under an exception is shown to an auditor, for a purpose that the exception serves, and to nobody else.
// access:  read
// params:  identity STRING, tenants LIST<STRING>, purpose STRING, grants LIST<STRING>, states LIST<STRING>,
//          tenantId STRING, audits BOOLEAN
// returns: content STRING, identity STRING, isTombstone BOOLEAN, fenced BOOLEAN, tenantId STRING, class STRING,
//          kind STRING, state STRING, purposes LIST<STRING>, permissions LIST<STRING>, observedAt INTEGER,
//          expiresAt INTEGER, envelope STRING
// bound:   one row
// plan:    NodeUniqueIndexSeek
MATCH (n:Identity {identity: $identity})
WHERE n:Record AND (
    (n.fence IS NULL AND n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
     AND any(grant IN $grants WHERE grant IN n.permissions))
    OR (n.state = 'retained' AND $audits AND n.tenantId = $tenantId AND EXISTS {
      MATCH (n)<-[:OUTCOME_FOR]-(:Outcome)-[:EXCEPTED_UNDER]->(x:Exception {state: 'open'})
      WHERE $purpose IN x.servesPurposes
    })
  )
RETURN
  n.content AS content, n.identity AS identity, n:Tombstone AS isTombstone, n.fence IS NOT NULL AS fenced,
  n.tenantId AS tenantId, n.class AS class, n.kind AS kind, n.state AS state, n.purposes AS purposes,
  n.permissions AS permissions, n.observedAt AS observedAt, n.expiresAt AS expiresAt, n.envelope AS envelope
