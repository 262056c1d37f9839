"""Small projects with a fake model (projects.py)."""

from projects import biased, fair, finished, project, shelf

__all__ = ["biased", "fair", "finished", "project", "shelf"]
