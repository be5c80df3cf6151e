// does: One record a copy: two records never name the same place in a store.
CREATE CONSTRAINT stored_in_unique IF NOT EXISTS
FOR ()-[e:STORED_IN]-() REQUIRE (e.storeId, e.locator) IS UNIQUE
