// does: One hold per id.
CREATE CONSTRAINT hold_unique IF NOT EXISTS
FOR (n:Hold) REQUIRE n.holdId IS UNIQUE
