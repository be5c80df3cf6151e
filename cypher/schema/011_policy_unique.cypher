// does: One node per loaded policy version.
CREATE CONSTRAINT policy_unique IF NOT EXISTS
FOR (n:Policy) REQUIRE n.policyId IS UNIQUE
