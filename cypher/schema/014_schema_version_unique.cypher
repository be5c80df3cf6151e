// does: One mark per applied step.
CREATE CONSTRAINT schema_version_unique IF NOT EXISTS
FOR (n:SchemaVersion) REQUIRE n.step IS UNIQUE
