// name:    mark_outcomes_resumed
// does:    Carries on with nodes that were retained and are held no longer: the content goes and each outcome that waited
//          changes, its history keeping what it was.
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
  REMOVE d.content, d.principalKey, d.sourceKey
)
WITH row
UNWIND row.outcomes AS entry
MATCH (o:Outcome {outcomeId: entry.outcomeId})
WHERE o.outcome = 'retained_under_exception'
WITH o, entry, coalesce(o.history, []) + [o.outcome] AS history
SET o = entry
SET o.history = history
WITH o
OPTIONAL MATCH (o)-[:EXCEPTED_UNDER]->(x:Exception)
SET x.state = 'ended'
RETURN count(DISTINCT o) AS changed
