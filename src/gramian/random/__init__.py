"""Fixed random maps and what is read out of them: projections, extreme learning machines, reservoirs."""
