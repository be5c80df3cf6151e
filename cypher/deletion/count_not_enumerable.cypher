// name:    count_not_enumerable
// does:    Records whose producing operation used one of the given identities while no edge leads from them, or from another
//          output of that operation, to it: a derivative that the walk cannot have found.
// access:  read
// params:  identities LIST<STRING>
// returns: number INTEGER
// bound:   the operations that used size(identities) records
// plan:    NodeUniqueIndexSeek
UNWIND $identities AS wanted
MATCH (x:Identity {identity: wanted})<-[:USED]-(o:Operation)
WHERE NOT EXISTS {
  MATCH (o)<-[:PRODUCED_BY]-(:Identity)-[:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM
    |PROJECTED_FROM|PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM]->(x)
}
RETURN count(DISTINCT o) AS number
