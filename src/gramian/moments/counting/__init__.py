"""From encoded rows to the state of moments: how every pair of columns is counted in one pass."""
