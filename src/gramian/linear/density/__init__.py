"""The detector: the embedding of the inverse covariance, three scores of odd rows, and their threshold."""
