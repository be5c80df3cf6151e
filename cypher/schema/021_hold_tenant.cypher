// does: The holds of a tenant.
CREATE INDEX hold_tenant IF NOT EXISTS
FOR (n:Hold) ON (n.tenantId, n.state)
