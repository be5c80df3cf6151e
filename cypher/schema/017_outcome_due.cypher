// does: Outcomes with work left, by store, shard and time of the next attempt.
CREATE INDEX outcome_due IF NOT EXISTS
FOR (n:Outcome) ON (n.store, n.shard, n.nextAttemptAt)
