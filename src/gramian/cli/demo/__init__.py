"""`gramian demo`: the story it tells, the payments it generates, the baselines it compares with."""
