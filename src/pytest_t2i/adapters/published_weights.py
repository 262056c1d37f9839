"""Weights that ``t2i fetch`` brings: where they lie, their size, licence and checksum."""

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
    """What ``t2i fetch`` calls it."""
    title: str
    licence: str
    parts: tuple[str, ...]
    """Detectors, parts or finders that read it where no path is given."""
    file: str = ""
    """Its name here; "" for weights of the hub and for those that are fetched by hand."""
    url: str = ""
    bytes: int = 0
    """Of the file as it is read; a .bz2 at the URL is unpacked."""
    sha256: str = ""
    hub: tuple[str, ...] = ()
    """Repositories of the Hugging Face hub, which has a cache of its own."""
    by_hand: str = ""
    """What to do where no program can fetch it."""
    note: str = ""

    @property
    def size(self) -> str:
        """In words; "" where the hub knows it."""
        return f"{self.bytes / MEGABYTE:.1f} MB" if self.bytes else ""

    @property
    def path(self) -> Path:
        """Where its file lies once it is fetched."""
        return cache_file().parent / "weights" / self.file

    @property
    def facts(self) -> str:
        """Licence, size and where from, in a line."""
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
    """The entry that a detector or a part reads where no path is given."""
    return next((one for one in published().values() if part in one.parts), None)


def fetched(part: str) -> Path | None:
    """The file of a part, where it was fetched before; None else.

    >>> fetched("no-such-part") is None
    True
    """
    one = weights_of(part)
    return one.path if one is not None and one.file and one.path.is_file() else None


def how_to_fetch(part: str) -> str:
    """What to type for its weights, with size and licence."""
    one = weights_of(part)
    if one is None:
        return ""
    if one.by_hand:
        return one.by_hand
    return f"Run: t2i fetch {one.name} ({', '.join(filter(None, (one.size, one.licence)))})."
