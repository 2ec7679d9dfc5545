"""Frames that lie in the partitions of another system: what they hold, known without importing it."""
