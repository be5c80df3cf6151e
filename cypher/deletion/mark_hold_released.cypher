// name:    mark_hold_released
// does:    Releases a hold and reopens every request that it kept from ending, in one transaction: the deletion goes on
//          without being asked for again.
// access:  write
// params:  holdId STRING, tenantId STRING, at INTEGER, releasedBy STRING
// returns: reopened LIST<STRING>
// bound:   the requests that met the records of one hold
// plan:    NodeUniqueIndexSeek(Locking)
MATCH (held:Hold {holdId: $holdId})
SET held:Hold
WITH collect(held) AS locked
UNWIND locked AS h
WITH h
WHERE h.tenantId = $tenantId
SET h.releasedAt = coalesce(h.releasedAt, $at), h.releasedBy = coalesce(h.releasedBy, $releasedBy)
SET h.state = 'released'
WITH h
CALL (h) {
  MATCH (h)<-[:HELD_UNDER]-(n:Identity)<-[:OUTCOME_FOR]-(o:Outcome {outcome: 'retained_under_exception'})
  MATCH (o)<-[:HAS_OUTCOME]-(q:Request)
  WHERE o.basis = 'hold' AND o.ground = h.holdId
  WITH DISTINCT q
  SET q.reopened = coalesce(q.reopened, 0) + 1
  SET q.state = 'PROPAGATING', q.waiting = false, q.propagatedAt = null
  RETURN collect(q.requestId) AS reopened
}
RETURN reopened
