// does: One operation per id.
CREATE CONSTRAINT operation_unique IF NOT EXISTS
FOR (n:Operation) REQUIRE n.operationId IS UNIQUE
