"""Exports of a run: cards, PDF, code scanning and experiment tracking."""
