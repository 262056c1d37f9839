"""Audits from scripts and notebooks, without pytest and of models in memory."""
