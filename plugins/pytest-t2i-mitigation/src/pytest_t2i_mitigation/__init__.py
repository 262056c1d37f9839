"""Mitigations of gender bias for pytest-t2i; each is found by its entry point."""
