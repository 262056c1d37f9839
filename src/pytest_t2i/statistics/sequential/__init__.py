"""Intervals and p-values that hold at every look."""
