"""Non-negative matrix factorisation: entries that were not observed, weights, several losses, streams."""
