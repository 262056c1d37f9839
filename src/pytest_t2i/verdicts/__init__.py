"""Verdicts: measurements, limits and baselines, their comparison, and the record of the outcome."""
