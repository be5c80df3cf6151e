// name:    expand_affected
// does:    The given identities and everything that came of them along the given edge types, each once at its least
//          distance, tombstones included: what was deleted earlier still leads to what came of it. What a registration
//          could still hang on is listed apart.
// access:  read
// params:  identities LIST<STRING>, pieceRows INTEGER
// literals: edgeTypes TYPES
// returns: depth INTEGER, isOpen BOOLEAN, identities LIST<STRING>
// order:   none
// bound:   the whole closure, pieceRows of it in a row
// plan:    VarLengthExpand(Pruning,BFS · NodeUniqueIndexSeek
UNWIND $identities AS root
MATCH path = (r:Identity {identity: root})<-[:$$edgeTypes*0..]-(d)
WITH d, min(length(path)) AS depth
WITH depth, d.fence IS NULL AND d:Record AS isOpen, collect(d.identity) AS found
// In pieces, since whoever reads a row holds it twice.
UNWIND range(0, size(found) - 1, $pieceRows) AS start
RETURN depth, isOpen, found[start..start + $pieceRows] AS identities
