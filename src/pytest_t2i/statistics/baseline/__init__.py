"""Comparisons with a baseline and among models, and change points of a history."""
