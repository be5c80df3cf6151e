// does: The exception ledger of a tenant.
CREATE INDEX exception_tenant IF NOT EXISTS
FOR (n:Exception) ON (n.tenantId, n.exceptionId)
