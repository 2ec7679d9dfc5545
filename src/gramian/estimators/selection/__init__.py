"""Selectors of source columns, one file a family."""
