"""Wrappers: columns taken in or left out one by one, each step an exact least squares fit."""
