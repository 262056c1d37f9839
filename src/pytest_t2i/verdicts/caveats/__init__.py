"""What qualifies a verdict: one module each, at the seams of ``seams.py``."""
