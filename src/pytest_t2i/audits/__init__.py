"""Audits: one package for each question, with what it needs, measures, records and shows."""
