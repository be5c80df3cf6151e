// does: Records of one source in one tenant, by keyed hash.
CREATE INDEX record_source IF NOT EXISTS
FOR (n:Record) ON (n.tenantId, n.sourceKey)
