// name:    merge_relations
// does:    Joins existing records by relations, under the fence: write-locks all ends, re-reads them, then joins those whose
//          ends are both free. Answers the indices that are joined.
// access:  write
// params:  locks LIST<STRING>, rows LIST<MAP>
// returns: joined LIST<INTEGER>
// order:   locks are taken in the order of the list; the caller sorts it
// bound:   size(rows) edges
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
UNWIND $locks AS lockIdentity
MATCH (held:Identity {identity: lockIdentity})
SET held:Identity
WITH count(held) AS locked
UNWIND $rows AS row
MATCH (a:Identity {identity: row.identity})
MATCH (b:Identity {identity: row.target})
WHERE a:Record AND a.fence IS NULL AND b:Record AND b.fence IS NULL
FOREACH (_ IN CASE row.edge WHEN 'CONTRADICTS' THEN [1] ELSE [] END | MERGE (a)-[:CONTRADICTS]->(b))
FOREACH (_ IN CASE row.edge WHEN 'APPROVED_BY' THEN [1] ELSE [] END | MERGE (a)-[:APPROVED_BY]->(b))
FOREACH (_ IN CASE row.edge WHEN 'BINDS' THEN [1] ELSE [] END | MERGE (a)-[:BINDS]->(b))
FOREACH (_ IN CASE row.edge WHEN 'CONSUMED_BY' THEN [1] ELSE [] END | MERGE (a)-[:CONSUMED_BY]->(b))
FOREACH (_ IN CASE row.edge WHEN 'VERIFIES' THEN [1] ELSE [] END | MERGE (a)-[:VERIFIES]->(b))
FOREACH (_ IN CASE row.edge WHEN 'AUTHORIZED_FOR' THEN [1] ELSE [] END | MERGE (a)-[:AUTHORIZED_FOR]->(b))
FOREACH (_ IN CASE row.edge WHEN 'OMITS' THEN [1] ELSE [] END | MERGE (a)-[:OMITS]->(b))
FOREACH (_ IN CASE row.edge WHEN 'RESOLVED_BY' THEN [1] ELSE [] END | MERGE (a)-[:RESOLVED_BY]->(b))
FOREACH (_ IN CASE row.edge WHEN 'ESCALATED_TO' THEN [1] ELSE [] END | MERGE (a)-[:ESCALATED_TO]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_USED' THEN [1] ELSE [] END | MERGE (a)-[:PROV_USED]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_GENERATED_BY' THEN [1] ELSE [] END | MERGE (a)-[:PROV_GENERATED_BY]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_INFORMED_BY' THEN [1] ELSE [] END | MERGE (a)-[:PROV_INFORMED_BY]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_STARTED_BY' THEN [1] ELSE [] END | MERGE (a)-[:PROV_STARTED_BY]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_ENDED_BY' THEN [1] ELSE [] END | MERGE (a)-[:PROV_ENDED_BY]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_INVALIDATED_BY' THEN [1] ELSE [] END | MERGE (a)-[:PROV_INVALIDATED_BY]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_ATTRIBUTED_TO' THEN [1] ELSE [] END | MERGE (a)-[:PROV_ATTRIBUTED_TO]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_ASSOCIATED_WITH' THEN [1] ELSE [] END | MERGE (a)-[:PROV_ASSOCIATED_WITH]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_ACTED_ON_BEHALF_OF' THEN [1] ELSE [] END | MERGE (a)-[:PROV_ACTED_ON_BEHALF_OF]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_INFLUENCED_BY' THEN [1] ELSE [] END | MERGE (a)-[:PROV_INFLUENCED_BY]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_SPECIALIZATION_OF' THEN [1] ELSE [] END | MERGE (a)-[:PROV_SPECIALIZATION_OF]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_ALTERNATE_OF' THEN [1] ELSE [] END | MERGE (a)-[:PROV_ALTERNATE_OF]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_HAD_MEMBER' THEN [1] ELSE [] END | MERGE (a)-[:PROV_HAD_MEMBER]->(b))
FOREACH (_ IN CASE row.edge WHEN 'PROV_MENTION_OF' THEN [1] ELSE [] END | MERGE (a)-[:PROV_MENTION_OF]->(b))
RETURN collect(row.index) AS joined
