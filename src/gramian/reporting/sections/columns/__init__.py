"""Sections on columns: which go with the target, which with each other."""
