"""Means over prompts that are not shares, and bands of curves."""
