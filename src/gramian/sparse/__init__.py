"""Signals as combinations of few atoms: coders, dictionaries, quantisation and non-negative factors."""
