// name:    lock_affected
// does:    Write-locks affected nodes and reads, under the locks, everything that decides what becomes of each: holds,
//          remaining support, stores, and which edge from which fenced or deleted source led to it.
// access:  write
// params:  rows LIST<MAP>, edgeTypes LIST<STRING>, shellKinds LIST<STRING>
// returns: facts LIST<MAP>
// order:   locks are taken in the order of the rows; the caller sorts them by identity
// bound:   size(rows) nodes
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
UNWIND $rows AS row
MATCH (held:Identity {identity: row.identity})
SET held:Identity
WITH collect({row: row, node: held}) AS locked
UNWIND locked AS entry
WITH entry.row AS row, entry.node AS d
OPTIONAL MATCH (before:Outcome {outcomeId: row.outcomeId})
WITH d, before,
  COLLECT {
    MATCH (d)-[:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM
              |PROJECTED_FROM|PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM]->(p:Record)
    WHERE p.fence IS NULL AND p.state IN ['active', 'superseded']
    RETURN p.identity LIMIT 1
  } AS liveSources
RETURN collect({
  identity: d.identity,
  isTombstone: d:Tombstone OR d.kind IS NULL,
  isWhole: d:Tombstone AND NOT d:Record AND size(keys(d)) = 4,
  hasContent: d.content IS NOT NULL,
  kind: d.kind,
  state: d.state,
  outcome: before.outcome,
  ground: before.ground,
  holds: COLLECT {
    MATCH (d)-[:HELD_UNDER]->(h:Hold {state: 'active'})
    RETURN {holdId: h.holdId, exceptionType: h.exceptionType, authority: h.authority, policyRef: h.policyRef,
            ownerId: h.ownerId, reviewAt: h.reviewAt}
  },
  stores: COLLECT {
    MATCH (d)-[e:STORED_IN]->(s:Store)
    WHERE e.locator IS NOT NULL AND s.storeId <> 'graph'
    RETURN DISTINCT s.storeId
  },
  witness: head(COLLECT {
    MATCH (d)-[e:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM
               |PROJECTED_FROM|PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM
               |SUPERSEDES|CONTRADICTS|APPROVED_BY|BINDS|CONSUMED_BY|VERIFIES|AUTHORIZED_FOR|OMITS
               |RESOLVED_BY|ESCALATED_TO|PROV_USED|PROV_GENERATED_BY|PROV_INFORMED_BY|PROV_STARTED_BY
               |PROV_ENDED_BY|PROV_INVALIDATED_BY|PROV_ATTRIBUTED_TO|PROV_ASSOCIATED_WITH
               |PROV_ACTED_ON_BEHALF_OF|PROV_INFLUENCED_BY|PROV_SPECIALIZATION_OF|PROV_ALTERNATE_OF
               |PROV_HAD_MEMBER|PROV_MENTION_OF]->(p:Identity)
    WHERE type(e) IN $edgeTypes AND (p:Tombstone OR p.fence IS NOT NULL)
    RETURN {edge: type(e), parent: p.identity} ORDER BY p.identity, type(e) LIMIT 1
  }),
  liveSources: liveSources,
  envelope: CASE WHEN size(liveSources) > 0 OR d.kind IN $shellKinds THEN d.envelope END
}) AS facts
