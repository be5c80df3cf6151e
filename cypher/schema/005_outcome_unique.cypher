// does: One outcome per request, identity and store; its id is made of these three.
CREATE CONSTRAINT outcome_unique IF NOT EXISTS
FOR (n:Outcome) REQUIRE n.outcomeId IS UNIQUE
