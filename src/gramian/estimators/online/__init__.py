"""Estimators that learn as rows arrive."""
