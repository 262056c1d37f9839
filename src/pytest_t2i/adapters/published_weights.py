"""Weights that ``t2i fetch`` downloads: their URL, size, licence and checksum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.support.digests import cache_file
from pytest_t2i.files import read_toml

MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class PublishedWeights:
    """One entry of ``weights.toml``.

    >>> published()["yunet"].size
    '0.2 MB'
    """

    name: str
    """Name for ``t2i fetch``."""
    title: str
    licence: str
    parts: tuple[str, ...]
    """Detectors and parts that use the file where no path is given."""
    file: str = ""
    """Local file name; "" for weights of the hub and for those that are downloaded by hand."""
    url: str = ""
    bytes: int = 0
    """Size of the local file; a .bz2 file at the URL is unpacked."""
    sha256: str = ""
    hub: tuple[str, ...] = ()
    """Repositories of the Hugging Face hub, which are kept in the hub's own cache."""
    by_hand: str = ""
    """Instruction where the file must be downloaded by hand; else ""."""
    note: str = ""

    @property
    def size(self) -> str:
        """Size in words; "" for weights of the hub."""
        return f"{self.bytes / MEGABYTE:.1f} MB" if self.bytes else ""

    @property
    def path(self) -> Path:
        """Path of the downloaded file."""
        return cache_file().parent / "weights" / self.file

    @property
    def facts(self) -> str:
        """Title, size, licence and origin in one line."""
        where = self.url or ", ".join(self.hub) or "by hand"
        return ", ".join(filter(None, (self.title, self.size, f"licence: {self.licence}", where)))


@cache
def published() -> dict[str, PublishedWeights]:
    """All entries by name."""
    table = read_toml(Path(str(files("pytest_t2i.adapters") / "weights.toml")))
    return {name: _entry(name, facts) for name, facts in table.items()}


def _entry(name: str, facts: dict[str, Any]) -> PublishedWeights:
    hub = facts.pop("hub", ())
    listed = (hub,) if isinstance(hub, str) else tuple(hub)
    return PublishedWeights(name, hub=listed, parts=tuple(facts.pop("parts")), **facts)


def weights_of(part: str) -> PublishedWeights | None:
    """The entry that a detector or a part uses where no path is given; None where there is none."""
    return next((one for one in published().values() if part in one.parts), None)


def fetched(part: str) -> Path | None:
    """The downloaded file of a part; None where it was not downloaded.

    >>> fetched("no-such-part") is None
    True
    """
    one = weights_of(part)
    return one.path if one is not None and one.file and one.path.is_file() else None


def how_to_fetch(part: str) -> str:
    """The command that downloads a part's weights, with size and licence."""
    one = weights_of(part)
    if one is None:
        return ""
    if one.by_hand:
        return one.by_hand
    return f"Run: t2i fetch {one.name} ({', '.join(filter(None, (one.size, one.licence)))})."
