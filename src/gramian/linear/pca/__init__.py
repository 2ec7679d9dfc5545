"""Principal components: the solver, and how many of them there are."""
