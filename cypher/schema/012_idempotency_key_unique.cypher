// does: One effect per key of a tenant.
CREATE CONSTRAINT idempotency_key_unique IF NOT EXISTS
FOR (n:IdempotencyKey) REQUIRE (n.tenantId, n.key) IS UNIQUE
