"""Intervals of scores of variety, which are biased at few images."""
