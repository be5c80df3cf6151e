// name:    expand_affected
// does:    Everything that came of the given identities along the given edge types, each once at its least distance,
//          tombstones included: what was deleted earlier still leads to what came of it.
// access:  read
// params:  identities LIST<STRING>, edgeTypes LIST<STRING>
// returns: depth INTEGER, identities LIST<STRING>
// order:   depth
// bound:   the whole closure, one row a depth
// plan:    VarLengthExpand(Pruning,BFS · NodeUniqueIndexSeek
UNWIND $identities AS root
MATCH path = (r:Identity {identity: root})<-[edges:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM
             |PROJECTED_FROM|PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM
             |SUPERSEDES|CONTRADICTS|APPROVED_BY|BINDS|CONSUMED_BY|VERIFIES|AUTHORIZED_FOR|OMITS
             |RESOLVED_BY|ESCALATED_TO|PROV_USED|PROV_GENERATED_BY|PROV_INFORMED_BY|PROV_STARTED_BY
             |PROV_ENDED_BY|PROV_INVALIDATED_BY|PROV_ATTRIBUTED_TO|PROV_ASSOCIATED_WITH
             |PROV_ACTED_ON_BEHALF_OF|PROV_INFLUENCED_BY|PROV_SPECIALIZATION_OF|PROV_ALTERNATE_OF
             |PROV_HAD_MEMBER|PROV_MENTION_OF*1..]-(d:Identity)
WHERE all(edge IN edges WHERE type(edge) IN $edgeTypes)
WITH d, min(length(path)) AS depth
RETURN depth, collect(d.identity) AS identities
ORDER BY depth
