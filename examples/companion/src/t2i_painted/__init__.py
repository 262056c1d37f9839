"""A model that paints figures and a detector that knows them, for pytest-t2i."""

from importlib.resources import files
from pathlib import Path


def catalogue() -> Path:
    """The aliases of this distribution (entry point pytest_t2i.catalogues)."""
    return Path(str(files("t2i_painted") / "catalogue.toml"))
