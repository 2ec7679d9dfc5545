"""Methods that learn from rows as they pass: Hebbian rules, the linear autoencoder, neural ICA, the ascent."""
