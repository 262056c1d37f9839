"""Audits: one file per measurement; which requests it needs, what is observed, how it is scored."""
