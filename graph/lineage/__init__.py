"""Where a record comes from and what came of it, for those who may see it, with a receipt that says how whole it is."""
