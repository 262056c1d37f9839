"""Intervals of detector scores against labels, and of agreement between people."""
