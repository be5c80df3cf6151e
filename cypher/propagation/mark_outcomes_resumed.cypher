// name:    mark_outcomes_resumed
// does:    Carries on with nodes that were retained and are held no longer, or whose reading was not what their outcome
//          said: the content goes and each outcome changes, its history keeping what it was.
//          What an operation says of its producer goes with its last output.
// access:  write
// params:  rows LIST<MAP>
// returns: changed INTEGER
// bound:   size(rows) nodes and their outcomes
// plan:    NodeUniqueIndexSeek
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
WITH d, row
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
WITH d, row
UNWIND row.outcomes AS entry
MATCH (o:Outcome {outcomeId: entry.outcomeId})
WHERE o.outcome = 'retained_under_exception' OR (o.outcome = 'failed' AND o.store = 'graph')
WITH o, entry, coalesce(o.history, []) + [o.outcome] AS history
SET o = entry
SET o.history = history
WITH o
OPTIONAL MATCH (o)-[:EXCEPTED_UNDER]->(x:Exception)
SET x.state = 'ended'
RETURN count(DISTINCT o) AS changed
