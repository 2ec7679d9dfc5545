"""What every estimator is made of: what it learns, declared as data."""
