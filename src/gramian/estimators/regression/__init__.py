"""Estimators that predict a target by coefficients: least squares, generalised linear and additive models."""
