"""The commands, by subject: each a function of its own name, with examples that run as printed."""
