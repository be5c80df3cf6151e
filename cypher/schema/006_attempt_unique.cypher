// does: One attempt per id.
CREATE CONSTRAINT attempt_unique IF NOT EXISTS
FOR (n:Attempt) REQUIRE n.attemptId IS UNIQUE
