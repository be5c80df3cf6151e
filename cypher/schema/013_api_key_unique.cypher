// does: One API key per id.
CREATE CONSTRAINT api_key_unique IF NOT EXISTS
FOR (n:ApiKey) REQUIRE n.keyId IS UNIQUE
