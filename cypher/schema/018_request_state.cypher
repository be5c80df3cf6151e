// does: Requests by state, for those that are not finished.
CREATE INDEX request_state IF NOT EXISTS
FOR (n:Request) ON (n.state)
