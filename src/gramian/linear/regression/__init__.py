"""Regression on the design columns: targets, ridge, held-out scores, and the test of independence."""
