"""Trains the reference models; see ``python -m training --help``."""
