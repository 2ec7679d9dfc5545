"""Linear methods as pure functions of moments: one method a file, no rows, no engines."""
