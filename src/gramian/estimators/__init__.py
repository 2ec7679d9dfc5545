"""Thin scikit-learn shells over the solvers: parameters, manners, and nothing else."""
