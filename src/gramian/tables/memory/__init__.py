"""Rows that are in memory already: arrays, frames, Arrow values, batches."""
