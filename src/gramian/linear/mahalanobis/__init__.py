"""Mahalanobis features: canonical, one per column, and the Krylov sequence."""
