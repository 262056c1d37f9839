"""Audits without running pytest: from a script or a notebook, of a model in memory."""
