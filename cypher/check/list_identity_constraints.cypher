// name:    list_identity_constraints
// does:    The constraint by which records and tombstones share no identity; no row where it is missing.
// access:  read
// params:  none
// returns: name STRING
// bound:   one row
SHOW UNIQUENESS CONSTRAINTS
YIELD name, labelsOrTypes, properties
WHERE labelsOrTypes = ['Identity'] AND properties = ['identity']
RETURN name
