"""Learning the atoms: from sums of codes, by rank-one fits, and where an atom is of no use."""
