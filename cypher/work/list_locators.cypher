// name:    list_locators
// does:    The locators that are registered in a store, in their order, behind a given one.
// access:  read
// params:  storeId STRING, after STRING, rowsMax INTEGER
// returns: locators LIST<STRING>
// order:   locator
// bound:   rowsMax edges
// plan:    DirectedRelationshipUniqueIndexSeek
MATCH ()-[e:STORED_IN]->()
WHERE e.storeId = $storeId AND e.locator > $after
WITH e
ORDER BY e.storeId, e.locator
LIMIT $rowsMax
RETURN collect(e.locator) AS locators
