"""Rows of numbers as combinations of atoms: coder, dictionary, quantiser, non-negative factors."""
