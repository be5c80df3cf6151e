// name:    list_locators_taken
// does:    Of the given places in stores, those that a record names already, with its identity.
// access:  read
// params:  places LIST<MAP>
// returns: taken LIST<MAP>
// bound:   size(places) entries
// plan:    DirectedRelationshipUniqueIndexSeek
UNWIND $places AS place
MATCH (n:Identity)-[e:STORED_IN {storeId: place.storeId, locator: place.locator}]->(:Store)
RETURN collect({storeId: place.storeId, locator: place.locator, identity: n.identity}) AS taken
