"""The value that one pass leaves behind, and everything that is exact algebra on it."""
