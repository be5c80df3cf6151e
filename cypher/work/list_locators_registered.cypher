// name:    list_locators_registered
// does:    Of the given locators in a store, those that are registered.
// access:  read
// params:  storeId STRING, locators LIST<STRING>
// returns: locators LIST<STRING>
// bound:   size(locators) edges
// plan:    DirectedRelationshipUniqueIndexSeek
UNWIND $locators AS locator
MATCH ()-[e:STORED_IN {storeId: $storeId, locator: locator}]->()
RETURN collect(e.locator) AS locators
