"""Intervals of variety scores, which are biased with few images."""
