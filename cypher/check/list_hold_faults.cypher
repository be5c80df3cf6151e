// name:    list_hold_faults
// does:    A page of holds, and of the active ones those that hold nothing, something deleted or another tenant's, or whose
//          exception type, owner or policy nobody knows; each with the names of its faults.
// access:  read
// params:  after STRING, rowsMax INTEGER, exceptionTypes LIST<STRING>, owners LIST<STRING>, policyRefs LIST<STRING>
// returns: pageLast STRING, page LIST<MAP>
// order:   holdId
// bound:   one row for a page of at most rowsMax holds
// plan:    NodeUniqueIndexSeekByRange
MATCH (h:Hold)
WHERE h.holdId > $after
WITH h ORDER BY h.holdId LIMIT $rowsMax
WITH h, coalesce(h.state, '') <> 'released' AS active
WITH h, [fault IN [
  CASE WHEN active AND NOT EXISTS { (h)<-[:HELD_UNDER]-(:Record) } THEN 'holds_nothing' END,
  CASE WHEN active AND EXISTS { (h)<-[:HELD_UNDER]-(:Tombstone) } THEN 'held_in_vain' END,
  CASE WHEN EXISTS { MATCH (h)<-[:HELD_UNDER]-(n:Record) WHERE n.tenantId <> h.tenantId } THEN 'foreign' END,
  CASE WHEN active AND NOT coalesce(h.exceptionType, '') IN $exceptionTypes THEN 'unknown_type' END,
  CASE WHEN active AND NOT coalesce(h.ownerId, '') IN $owners THEN 'unknown_owner' END,
  CASE WHEN active AND NOT coalesce(h.policyRef, '') IN $policyRefs THEN 'unknown_policy' END
] WHERE fault IS NOT NULL] AS faults
WITH max(h.holdId) AS pageLast, collect({identity: h.holdId, faults: faults}) AS rows
RETURN pageLast, [row IN rows WHERE size(row.faults) > 0] AS page
