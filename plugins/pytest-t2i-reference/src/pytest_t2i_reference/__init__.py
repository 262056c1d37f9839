"""Reference models for pytest-t2i: real diffusion pipelines whose bias was planted and is therefore known."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def catalogue() -> Path:
    """The catalogue of this distribution's models and weights, for the entry point ``pytest_t2i.catalogues``."""
    return Path(str(resources.files(__package__).joinpath("catalogue.toml")))
