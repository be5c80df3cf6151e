// name:    get_request
// does:    A deletion request as it is stored, and to how many of the records that it is for it leads.
// access:  read
// params:  requestId STRING
// returns: request MAP, targets INTEGER
// bound:   one row
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})
RETURN properties(q) AS request, COUNT { (q)-[:TARGETS]->() } AS targets
