// does: A record and a tombstone never share an identity, whichever channel writes (I5).
CREATE CONSTRAINT identity_unique IF NOT EXISTS
FOR (n:Identity) REQUIRE n.identity IS UNIQUE
