// name:    create_records
// does:    Registers records under the fence: write-locks what they hang on, then re-reads it, and creates each record
//          whose links are all free, with its operation, edges and store locators. Answers the indices that were created.
//          Facts are what the caller remembers of what is locked, as list_identities told it; where one of them is no
//          longer so, nothing is created.
// access:  write
// params:  locks LIST<STRING>, facts LIST<MAP>, rows LIST<MAP>
// returns: created LIST<INTEGER>
// order:   locks are taken in the order of the list; the caller sorts it
// bound:   size(rows) records
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
UNWIND $locks AS lockIdentity
MATCH (held:Identity {identity: lockIdentity})
SET held:Identity
WITH count(held) AS locked
WITH $facts AS facts, locked
CALL (facts, locked) {
  UNWIND facts AS fact
  MATCH (p:Identity {identity: fact.identity})
  WHERE p.state = fact.state AND p.tenantId = fact.tenantId AND p.class = fact.class AND p.kind = fact.kind
    AND p.purposes = fact.purposes AND p.permissions = fact.permissions AND p.envelope = fact.envelope
    AND coalesce(p.observedAt, 0) = coalesce(fact.observedAt, 0)
    AND coalesce(p.expiresAt, 'none') = coalesce(fact.expiresAt, 'none')
  RETURN count(p) AS factsStanding
}
WITH facts, factsStanding
WHERE factsStanding = size(facts)
UNWIND $rows AS row
OPTIONAL MATCH (existing:Identity {identity: row.identity})
CALL (row) {
  UNWIND row.links AS link
  MATCH (p:Identity {identity: link.identity})
  WHERE p:Record AND p.fence IS NULL AND p.state IN ['active', 'superseded']
  RETURN collect({node: p, edge: link.edge, derives: link.derives}) AS ends
}
CALL (row) {
  UNWIND row.supersedes AS older
  MATCH (old:Identity {identity: older})
  WHERE old:Record AND old.fence IS NULL AND old.state IN ['active', 'superseded', 'quarantined']
    AND NOT EXISTS { (old)<-[:SUPERSEDES]-(:Record) }
  RETURN count(old) AS olderFree
}
WITH row, existing, ends, olderFree
WHERE existing IS NULL AND size(ends) = size(row.links) AND olderFree = size(row.supersedes)
CREATE (c:Identity:Record)
SET c = row.properties
MERGE (o:Operation {operationId: row.operation.operationId})
ON CREATE SET o = row.operation
CREATE (c)-[:PRODUCED_BY]->(o)
FOREACH (end IN [one IN ends WHERE one.derives] | // apart from relations: each branch costs a comparison a link
  FOREACH (p IN CASE end.edge WHEN 'OBSERVED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:OBSERVED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'SUMMARIZED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:SUMMARIZED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'INFERRED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:INFERRED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'EMBEDDED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:EMBEDDED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'CACHED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:CACHED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'COMPACTED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:COMPACTED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROJECTED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:PROJECTED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROPOSED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:PROPOSED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'RENDERED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:RENDERED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'EXPORTED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:EXPORTED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'LABELED_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:LABELED_FROM]->(p))
  FOREACH (p IN CASE end.edge WHEN 'BACKED_UP_FROM' THEN [end.node] ELSE [] END | CREATE (c)-[:BACKED_UP_FROM]->(p))
)
FOREACH (end IN [one IN ends WHERE NOT one.derives] | // relations
  FOREACH (p IN CASE end.edge WHEN 'CONTRADICTS' THEN [end.node] ELSE [] END | CREATE (c)-[:CONTRADICTS]->(p))
  FOREACH (p IN CASE end.edge WHEN 'APPROVED_BY' THEN [end.node] ELSE [] END | CREATE (c)-[:APPROVED_BY]->(p))
  FOREACH (p IN CASE end.edge WHEN 'BINDS' THEN [end.node] ELSE [] END | CREATE (c)-[:BINDS]->(p))
  FOREACH (p IN CASE end.edge WHEN 'CONSUMED_BY' THEN [end.node] ELSE [] END | CREATE (c)-[:CONSUMED_BY]->(p))
  FOREACH (p IN CASE end.edge WHEN 'VERIFIES' THEN [end.node] ELSE [] END | CREATE (c)-[:VERIFIES]->(p))
  FOREACH (p IN CASE end.edge WHEN 'AUTHORIZED_FOR' THEN [end.node] ELSE [] END | CREATE (c)-[:AUTHORIZED_FOR]->(p))
  FOREACH (p IN CASE end.edge WHEN 'OMITS' THEN [end.node] ELSE [] END | CREATE (c)-[:OMITS]->(p))
  FOREACH (p IN CASE end.edge WHEN 'RESOLVED_BY' THEN [end.node] ELSE [] END | CREATE (c)-[:RESOLVED_BY]->(p))
  FOREACH (p IN CASE end.edge WHEN 'ESCALATED_TO' THEN [end.node] ELSE [] END | CREATE (c)-[:ESCALATED_TO]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_USED' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_USED]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_GENERATED_BY' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_GENERATED_BY]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_INFORMED_BY' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_INFORMED_BY]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_STARTED_BY' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_STARTED_BY]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_ENDED_BY' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_ENDED_BY]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_INVALIDATED_BY' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_INVALIDATED_BY]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_ATTRIBUTED_TO' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_ATTRIBUTED_TO]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_ASSOCIATED_WITH' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_ASSOCIATED_WITH]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_ACTED_ON_BEHALF_OF' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_ACTED_ON_BEHALF_OF]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_INFLUENCED_BY' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_INFLUENCED_BY]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_SPECIALIZATION_OF' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_SPECIALIZATION_OF]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_ALTERNATE_OF' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_ALTERNATE_OF]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_HAD_MEMBER' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_HAD_MEMBER]->(p))
  FOREACH (p IN CASE end.edge WHEN 'PROV_MENTION_OF' THEN [end.node] ELSE [] END | CREATE (c)-[:PROV_MENTION_OF]->(p))
)
WITH c, o, row, ends
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
WITH collect(row.index) AS created, collect({operation: o, ends: ends}) AS made
CALL (made) {
  UNWIND made AS one
  UNWIND one.ends AS end
  WITH one, end
  WHERE end.derives
  WITH DISTINCT one.operation AS o, end.node AS p
  WHERE NOT EXISTS { (o)-[:USED]->(p) }
  CREATE (o)-[:USED]->(p)
}
RETURN created
