"""Shares of images: exact intervals and tests, and resampling."""
