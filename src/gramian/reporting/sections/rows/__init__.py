"""Sections on rows: where they lie and which are odd."""
