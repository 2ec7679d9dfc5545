"""Rows from files: paths, formats, and many files as one table."""
