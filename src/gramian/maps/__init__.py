"""Fitted maps from rows to features: what they read, how they apply, how they are stored."""
