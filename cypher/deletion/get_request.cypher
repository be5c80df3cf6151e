// name:    get_request
// does:    A deletion request as it is stored.
// access:  read
// params:  requestId STRING
// returns: request MAP
// bound:   one row
// plan:    NodeUniqueIndexSeek
MATCH (q:Request {requestId: $requestId})
RETURN properties(q) AS request
