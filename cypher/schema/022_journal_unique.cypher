// does: One node a journal: the mark of how far it is applied.
CREATE CONSTRAINT journal_unique IF NOT EXISTS
FOR (n:Journal) REQUIRE n.journalId IS UNIQUE
