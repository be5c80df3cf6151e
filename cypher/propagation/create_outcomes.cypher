// name:    create_outcomes
// does:    Removes content and writes the outcome of each affected node, in one transaction with the reading of its facts:
//          a deleted one becomes a tombstone of exactly four properties, an invalidated one keeps a shell, a retained one
//          keeps its content and serves nobody else.
//          What an operation says of its producer goes with its last output.
// access:  write
// params:  requestId STRING, rows LIST<MAP>
// returns: written INTEGER
// bound:   size(rows) nodes and their outcomes
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})
UNWIND $rows AS row
MATCH (d:Identity {identity: row.identity})
FOREACH (_ IN CASE row.change WHEN 'delete' THEN [1] ELSE [] END |
  REMOVE d:Record
  SET d:Tombstone
  SET d = row.tombstone
)
FOREACH (_ IN CASE row.change WHEN 'invalidate' THEN [1] ELSE [] END |
  SET d.state = 'invalidated', d.envelope = row.envelope
  REMOVE d.content, d.principalKey, d.sourceKey, d.audience
)
FOREACH (_ IN CASE row.change WHEN 'retain' THEN [1] ELSE [] END |
  SET d.state = 'retained'
  REMOVE d.audience
)
WITH q, d, row
CALL (d, row) {
  WITH d, row
  WHERE row.change IN ['delete', 'invalidate']
  MATCH (d)-[:PRODUCED_BY]->(held:Operation)
  SET held:Operation
  WITH collect(held) AS operations
  UNWIND operations AS o
  WITH o
  WHERE NOT EXISTS { (o)<-[:PRODUCED_BY]-(other:Record) WHERE other.state <> 'invalidated' }
  REMOVE o.method, o.producerId, o.producerVersion
}
WITH q, d, row
UNWIND row.outcomes AS entry
CREATE (q)-[:HAS_OUTCOME]->(o:Outcome)-[:OUTCOME_FOR]->(d)
SET o = entry
RETURN count(*) AS written
