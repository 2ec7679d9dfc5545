"""Methods that learn from rows as they pass."""
