"""Filters: a score of each column by itself, or beside the columns kept."""
