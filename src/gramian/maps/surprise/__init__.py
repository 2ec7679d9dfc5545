"""The fitted scores of the detector: what is looked up for each row, and why a row is odd in words."""
