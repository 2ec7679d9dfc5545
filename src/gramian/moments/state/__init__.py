"""What moments hold: counts of level pairs, sums and scatters of numbers, and their forms in memory."""
