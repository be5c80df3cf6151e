// name:    get_hold
// does:    A hold with the records under it.
// access:  read
// params:  holdId STRING, tenantId STRING
// returns: hold MAP, recordIds LIST<STRING>
// bound:   one row
// plan:    NodeUniqueIndexSeek
MATCH (h:Hold {holdId: $holdId})
WHERE h.tenantId = $tenantId
RETURN properties(h) AS hold, COLLECT { MATCH (h)<-[:HELD_UNDER]-(n:Identity) RETURN n.identity ORDER BY n.identity } AS recordIds
