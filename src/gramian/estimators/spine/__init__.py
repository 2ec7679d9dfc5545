"""What every estimator is made of: how it reads its training data, learns from it, and describes what it gives."""
