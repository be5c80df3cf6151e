// name:    list_affected
// does:    What decides about affected nodes, read for a preview: the same facts as under the locks, with every live
//          source listed, since nothing is fenced yet.
// access:  read
// params:  identities LIST<STRING>, edgeTypes LIST<STRING>, within LIST<STRING>
// returns: facts LIST<MAP>
// bound:   size(identities) nodes
// plan:    NodeUniqueIndexSeek
UNWIND $identities AS wanted
MATCH (d:Identity {identity: wanted})
RETURN collect({
  identity: d.identity,
  isTombstone: d:Tombstone OR d.kind IS NULL,
  isWhole: d:Tombstone AND NOT d:Record AND size(keys(d)) = 4,
  hasContent: d.content IS NOT NULL,
  kind: d.kind,
  state: d.state,
  outcome: null,
  ground: null,
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
  witness: coalesce(head(COLLECT {
    MATCH (d)-[e]->(p:Identity)
    WHERE type(e) IN $edgeTypes AND p.identity IN $within
    RETURN p.identity + ' ' + type(e) AS led ORDER BY led LIMIT 1
  }), ''),
  liveSources: COLLECT {
    MATCH (d)-[:OBSERVED_FROM|SUMMARIZED_FROM|INFERRED_FROM|EMBEDDED_FROM|CACHED_FROM|COMPACTED_FROM
              |PROJECTED_FROM|PROPOSED_FROM|RENDERED_FROM|EXPORTED_FROM|LABELED_FROM|BACKED_UP_FROM]->(p:Record)
    WHERE p.fence IS NULL AND p.state IN ['active', 'superseded']
    RETURN DISTINCT p.identity
  },
  envelope: null
}) AS facts
