// name:    list_subject
// does:    Of the given identities, those that the tenant may ask to delete, each with every version of its chain:
//          records of the tenant, and tombstones that a request of the tenant has an outcome for.
// access:  read
// params:  identities LIST<STRING>, tenantId STRING
// returns: asked LIST<STRING>, scope LIST<STRING>, kinds LIST<STRING>
// bound:   the version chains of size(identities) records
// plan:    NodeUniqueIndexSeek
UNWIND $identities AS wanted
MATCH (n:Identity {identity: wanted})
WHERE (n:Record AND n.tenantId = $tenantId)
   OR (n:Tombstone AND EXISTS { (n)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId}) })
MATCH (n)-[:SUPERSEDES*0..]-(version)
RETURN collect(DISTINCT n.identity) AS asked, collect(DISTINCT version.identity) AS scope,
       collect(DISTINCT version.kind) AS kinds
