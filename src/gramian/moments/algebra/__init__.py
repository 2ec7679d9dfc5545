"""Moments from moments: added, subtracted, levels changed, checked. No rows."""
