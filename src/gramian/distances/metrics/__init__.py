"""Metrics: how far apart two objects are, one kind of object a file."""
