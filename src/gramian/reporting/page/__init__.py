"""The page of a report: its rendering, which computes nothing."""
