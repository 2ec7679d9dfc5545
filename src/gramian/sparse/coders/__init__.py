"""Codes of signals over a dictionary that is given: one algorithm a file."""
