"""Measurements of Gramian against its peers, each a ratio taken in one run; not part of the package."""
