// does: One erasure has one request: the same scope in the same tenant meets the same request.
CREATE CONSTRAINT request_scope_unique IF NOT EXISTS
FOR (n:Request) REQUIRE n.scopeKey IS UNIQUE
