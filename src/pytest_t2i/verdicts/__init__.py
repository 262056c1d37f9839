"""Measurement, limit, baseline: where a measurement meets its bound, and what was decided."""
