// name:    list_indexes
// does:    The names of all indexes, those of constraints included.
// access:  read
// params:  none
// returns: name STRING
// bound:   one row an index
SHOW INDEXES
YIELD name
RETURN name
