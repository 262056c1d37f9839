"""Exact intervals and tests of shares of images, and what the bootstraps have in common."""
