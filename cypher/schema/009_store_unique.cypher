// does: One store per id.
CREATE CONSTRAINT store_unique IF NOT EXISTS
FOR (n:Store) REQUIRE n.storeId IS UNIQUE
