"""Compiled loops of the counters."""
