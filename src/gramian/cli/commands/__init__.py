"""The commands, one a file: each a function of its own name, and examples that run as printed."""
