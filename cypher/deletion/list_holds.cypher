// name:    list_holds
// does:    The active holds of a tenant with the records under each, reviewed soonest first.
// access:  read
// params:  tenantId STRING, rowsMax INTEGER
// returns: holds LIST<MAP>
// order:   reviewAt, holdId
// bound:   rowsMax holds
// plan:    NodeIndexSeek
MATCH (h:Hold {tenantId: $tenantId, state: 'active'})
WITH h
ORDER BY h.reviewAt, h.holdId
LIMIT $rowsMax
RETURN collect({
  hold: properties(h),
  recordIds: COLLECT { MATCH (h)<-[:HELD_UNDER]-(n:Identity) RETURN n.identity ORDER BY n.identity }
}) AS holds
