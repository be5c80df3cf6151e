// does: One request per id.
CREATE CONSTRAINT request_unique IF NOT EXISTS
FOR (n:Request) REQUIRE n.requestId IS UNIQUE
