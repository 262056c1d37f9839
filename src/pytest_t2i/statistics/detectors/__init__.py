"""Scores of detectors against labels, and agreement among people."""
