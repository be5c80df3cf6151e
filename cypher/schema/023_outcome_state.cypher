// does: Whether a request has outcomes left to settle, without looking at those that are.
CREATE INDEX outcome_state IF NOT EXISTS
FOR (n:Outcome) ON (n.requestId, n.state)
