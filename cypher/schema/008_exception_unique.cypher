// does: One ledger entry per id.
CREATE CONSTRAINT exception_unique IF NOT EXISTS
FOR (n:Exception) REQUIRE n.exceptionId IS UNIQUE
