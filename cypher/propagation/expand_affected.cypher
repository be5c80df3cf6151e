// name:    expand_affected
// does:    Everything that came of the given identities along the given edge types, each once at its least distance,
//          tombstones included: what was deleted earlier still leads to what came of it. What a registration could still
//          hang on is listed apart.
// access:  read
// params:  identities LIST<STRING>
// literals: edgeTypes TYPES
// returns: depth INTEGER, isOpen BOOLEAN, identities LIST<STRING>
// order:   none
// bound:   the whole closure, two rows a depth
// plan:    VarLengthExpand(Pruning,BFS · NodeUniqueIndexSeek
UNWIND $identities AS root
MATCH path = (r:Identity {identity: root})<-[:$$edgeTypes*1..]-(d:Identity)
WITH d, min(length(path)) AS depth
RETURN depth, d.fence IS NULL AND d:Record AS isOpen, collect(d.identity) AS identities
