// does: Records of one person in one tenant, by keyed hash.
CREATE INDEX record_principal IF NOT EXISTS
FOR (n:Record) ON (n.tenantId, n.principalKey)
