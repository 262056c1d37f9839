"""Small projects with a fake model, those of the core's tests."""

from projects import project

__all__ = ["project"]
