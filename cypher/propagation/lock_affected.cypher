// name:    lock_affected
// does:    Write-locks affected nodes and reads, under the locks, everything that decides what becomes of each. The plain
//          ones, of which nothing decides but their kind, come in columns, grouped by kind and state; of the others, all
//          facts: outcome so far, holds, remaining support, stores, and which edge from which fenced or deleted source
//          led to it.
// access:  write
// params:  identities LIST<STRING>, requestId STRING, edgeTypes LIST<STRING>, supportTypes LIST<STRING>,
//          shellKinds LIST<STRING>
// returns: plain LIST<MAP>, facts LIST<MAP>
// order:   locks are taken in the order of the list; the caller sorts it
// bound:   size(identities) nodes
// plan:    NodeUniqueIndexSeek(Locking) · SetLabels · EagerAggregation
UNWIND $identities AS wanted
MATCH (held:Identity {identity: wanted})
SET held:Identity
WITH collect(held) AS locked
CALL (locked) {
  // One expansion tells both who led here and who supports it.
  UNWIND locked AS d
  OPTIONAL MATCH (d)-[e]->(p:Identity)
  WITH d,
    min(CASE WHEN type(e) IN $edgeTypes AND (p.fence IS NOT NULL OR p:Tombstone)
      THEN p.identity + ' ' + type(e) END) AS witness,
    min(CASE WHEN type(e) IN $supportTypes AND p.fence IS NULL AND p.state IN ['active', 'superseded'] AND p:Record
      THEN p.identity END) AS support
  RETURN collect({
    node: d, witness: witness, support: support,
    isPlain: d:Record AND d.kind IS NOT NULL AND NOT d.kind IN $shellKinds AND support IS NULL
      AND NOT EXISTS { (d)<-[:OUTCOME_FOR]-() } AND NOT EXISTS { (d)-[:HELD_UNDER|STORED_IN]->() }
  }) AS read
}
CALL (read) {
  UNWIND read AS one
  WITH one.node AS d, one.witness AS witness
  WHERE one.isPlain
  WITH d.kind AS kind, d.state AS state, d.content IS NOT NULL AS hasContent,
    collect(d.identity) AS identities, collect(coalesce(witness, '')) AS witnesses
  RETURN collect({
    kind: kind, state: state, hasContent: hasContent, identities: identities, witnesses: witnesses
  }) AS plain
}
CALL (read) {
  UNWIND read AS one
  WITH one.node AS d, one.witness AS witness, one.support AS support
  WHERE NOT one.isPlain
  OPTIONAL MATCH (d)<-[:OUTCOME_FOR]-(before:Outcome {requestId: $requestId, store: 'graph'})
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
    witness: coalesce(witness, ''),
    liveSources: CASE WHEN support IS NULL THEN [] ELSE [support] END,
    envelope: CASE WHEN support IS NOT NULL OR d.kind IN $shellKinds THEN d.envelope END
  }) AS facts
}
RETURN plain, facts
