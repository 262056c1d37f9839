"""Exports of a run: cards, PDF, tables, code scanning and experiment tracking."""
