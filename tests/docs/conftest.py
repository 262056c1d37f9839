"""A fake distribution: its models answer to the names that the documentation uses."""

from __future__ import annotations

import preloaded  # noqa: F401 - before the first run of pytest
import pytest
from distributions import installed, write_metadata

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
