"""Sections on models: what their features are made of and what they tell."""
