// name:    list_collection_parts
// does:    What the given records say, with their edges to other records and those that come from what has ended; of records
//          that a caller may see and that no deletion has fenced.
// access:  read
// params:  identities LIST<STRING>, edgeTypes LIST<STRING>, tenants LIST<STRING>, purpose STRING, grants LIST<STRING>,
//          states LIST<STRING>
// returns: parts LIST<MAP>
// bound:   size(identities) entries and their edges
// plan:    NodeUniqueIndexSeek
UNWIND $identities AS wanted
MATCH (n:Identity {identity: wanted})
WHERE n:Record AND n.fence IS NULL AND n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
  AND any(grant IN $grants WHERE grant IN n.permissions)
RETURN collect({
  identity: n.identity,
  kind: n.kind,
  envelope: n.envelope,
  content: n.content,
  edges: COLLECT {
    MATCH (n)-[e]->(m:Identity)
    WHERE type(e) IN $edgeTypes
    RETURN {edge: type(e), identity: m.identity, ended: m:Tombstone OR m.state = 'invalidated'}
  },
  endedEdges: COLLECT {
    MATCH (n)<-[e]-(m:Identity)
    WHERE type(e) IN $edgeTypes AND (m:Tombstone OR m.state = 'invalidated')
    RETURN {edge: type(e), identity: m.identity}
  }
}) AS parts
