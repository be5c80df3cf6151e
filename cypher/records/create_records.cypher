// name:    create_records
// does:    Registers records under the fence: write-locks what they hang on, then re-reads it, and creates each record
//          whose links are all free, with its operation, edges and store locators. Answers the indices that were created.
// access:  write
// params:  locks LIST<STRING>, rows LIST<MAP>
// returns: created LIST<INTEGER>
// order:   locks are taken in the order of the list; the caller sorts it
// bound:   size(rows) records
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
UNWIND $locks AS lockIdentity
MATCH (held:Identity {identity: lockIdentity})
SET held:Identity
WITH count(held) AS locked
UNWIND $rows AS row
OPTIONAL MATCH (existing:Identity {identity: row.identity})
CALL (row) {
  UNWIND row.links AS link
  MATCH (p:Identity {identity: link.identity})
  WHERE p:Record AND p.fence IS NULL AND p.state IN ['active', 'superseded']
  RETURN count(p) AS linksFree
}
CALL (row) {
  UNWIND row.supersedes AS older
  MATCH (old:Identity {identity: older})
  WHERE old:Record AND old.fence IS NULL AND old.state IN ['active', 'quarantined']
    AND NOT EXISTS { (old)<-[:SUPERSEDES]-(:Identity) }
  RETURN count(old) AS olderFree
}
WITH row, existing, linksFree, olderFree
WHERE existing IS NULL AND linksFree = size(row.links) AND olderFree = size(row.supersedes)
CREATE (c:Identity:Record)
SET c = row.properties
MERGE (o:Operation {operationId: row.operation.operationId})
ON CREATE SET o = row.operation
CREATE (c)-[:PRODUCED_BY]->(o)
WITH c, o, row
CALL (c, o, row) {
  UNWIND row.links AS link
  MATCH (p:Identity {identity: link.identity})
  FOREACH (_ IN CASE link.edge WHEN 'OBSERVED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:OBSERVED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'SUMMARIZED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:SUMMARIZED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'INFERRED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:INFERRED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'EMBEDDED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:EMBEDDED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'CACHED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:CACHED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'COMPACTED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:COMPACTED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROJECTED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:PROJECTED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROPOSED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:PROPOSED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'RENDERED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:RENDERED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'EXPORTED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:EXPORTED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'LABELED_FROM' THEN [1] ELSE [] END | CREATE (c)-[:LABELED_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'BACKED_UP_FROM' THEN [1] ELSE [] END | CREATE (c)-[:BACKED_UP_FROM]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'CONTRADICTS' THEN [1] ELSE [] END | CREATE (c)-[:CONTRADICTS]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'APPROVED_BY' THEN [1] ELSE [] END | CREATE (c)-[:APPROVED_BY]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'BINDS' THEN [1] ELSE [] END | CREATE (c)-[:BINDS]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'CONSUMED_BY' THEN [1] ELSE [] END | CREATE (c)-[:CONSUMED_BY]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'VERIFIES' THEN [1] ELSE [] END | CREATE (c)-[:VERIFIES]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'AUTHORIZED_FOR' THEN [1] ELSE [] END | CREATE (c)-[:AUTHORIZED_FOR]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'OMITS' THEN [1] ELSE [] END | CREATE (c)-[:OMITS]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'RESOLVED_BY' THEN [1] ELSE [] END | CREATE (c)-[:RESOLVED_BY]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'ESCALATED_TO' THEN [1] ELSE [] END | CREATE (c)-[:ESCALATED_TO]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_USED' THEN [1] ELSE [] END | CREATE (c)-[:PROV_USED]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_GENERATED_BY' THEN [1] ELSE [] END | CREATE (c)-[:PROV_GENERATED_BY]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_INFORMED_BY' THEN [1] ELSE [] END | CREATE (c)-[:PROV_INFORMED_BY]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_STARTED_BY' THEN [1] ELSE [] END | CREATE (c)-[:PROV_STARTED_BY]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_ENDED_BY' THEN [1] ELSE [] END | CREATE (c)-[:PROV_ENDED_BY]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_INVALIDATED_BY' THEN [1] ELSE [] END | CREATE (c)-[:PROV_INVALIDATED_BY]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_ATTRIBUTED_TO' THEN [1] ELSE [] END | CREATE (c)-[:PROV_ATTRIBUTED_TO]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_ASSOCIATED_WITH' THEN [1] ELSE [] END | CREATE (c)-[:PROV_ASSOCIATED_WITH]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_ACTED_ON_BEHALF_OF' THEN [1] ELSE [] END | CREATE (c)-[:PROV_ACTED_ON_BEHALF_OF]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_INFLUENCED_BY' THEN [1] ELSE [] END | CREATE (c)-[:PROV_INFLUENCED_BY]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_SPECIALIZATION_OF' THEN [1] ELSE [] END | CREATE (c)-[:PROV_SPECIALIZATION_OF]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_ALTERNATE_OF' THEN [1] ELSE [] END | CREATE (c)-[:PROV_ALTERNATE_OF]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_HAD_MEMBER' THEN [1] ELSE [] END | CREATE (c)-[:PROV_HAD_MEMBER]->(p))
  FOREACH (_ IN CASE link.edge WHEN 'PROV_MENTION_OF' THEN [1] ELSE [] END | CREATE (c)-[:PROV_MENTION_OF]->(p))
  FOREACH (_ IN CASE WHEN link.derives THEN [1] ELSE [] END | MERGE (o)-[:USED]->(p))
}
CALL (c, row) {
  UNWIND row.supersedes AS older
  MATCH (old:Identity {identity: older})
  SET old.state = CASE old.state WHEN 'active' THEN 'superseded' ELSE old.state END
  CREATE (c)-[:SUPERSEDES]->(old)
}
CALL (c, row) {
  UNWIND row.stores AS store
  MATCH (s:Store {storeId: store.storeId})
  CREATE (c)-[:STORED_IN {storeId: store.storeId, locator: store.locator}]->(s)
}
RETURN collect(row.index) AS created
