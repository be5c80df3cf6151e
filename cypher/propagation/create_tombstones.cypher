// name:    create_tombstones
// does:    Turns nodes whose content goes into tombstones of exactly four properties and writes the outcome of each, in one
//          transaction with the reading of their facts. What is the same in all of a group stands once; a row is
//          identity, outcome id, depth, witness edge and witness parent.
//          What an operation says of its producer goes with its last output.
// access:  write
// params:  requestId STRING, groups LIST<MAP>
// returns: written INTEGER
// bound:   the nodes of the groups and one outcome of each
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})
UNWIND $groups AS same
WITH q, same.rows AS rows, same.tombstone AS tombstone, same.outcome AS outcome
UNWIND rows AS row
MATCH (d:Identity {identity: row[0]})
REMOVE d:Record
SET d:Tombstone
SET d = tombstone {.*, identity: row[0]}
CREATE (q)-[:HAS_OUTCOME]->(o:Outcome)-[:OUTCOME_FOR]->(d)
SET o = outcome {.*,
  identity: row[0], outcomeId: row[1], depth: row[2], witnessEdge: row[3], witnessParent: row[4]
}
WITH collect(d) AS gone
CALL (gone) {
  UNWIND gone AS d
  MATCH (d)-[:PRODUCED_BY]->(met:Operation)
  WITH DISTINCT met
  ORDER BY met.operationId
  SET met:Operation
  WITH collect(met) AS operations
  UNWIND operations AS o
  WITH o
  WHERE NOT EXISTS { (o)<-[:PRODUCED_BY]-(other:Record) WHERE other.state <> 'invalidated' }
  REMOVE o.method, o.producerId, o.producerVersion
}
RETURN size(gone) AS written
