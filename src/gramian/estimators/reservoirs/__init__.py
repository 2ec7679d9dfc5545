"""Estimators that begin with a fixed reservoir: echo states and liquid states of sequences."""
