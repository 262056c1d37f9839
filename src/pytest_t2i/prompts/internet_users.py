"""How large a nationality's share of the internet is: users, from a file with its source."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import msgspec

from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import convert, read_toml


@dataclass(frozen=True, slots=True)
class Footprints:
    """Internet users by nationality."""

    users: dict[str, float]
    """In millions."""
    source: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    users: dict[str, float]
    source: str


def read_footprints(path: Path | None = None) -> Footprints:
    """A TOML file with ``source`` and a table ``[users]``; without one, that of OASIS 4.2.

    Raises FileFormatError that says what is wrong and where.

    >>> read_footprints().users["Indian"]
    881.3
    """
    path = path or Path(str(files("pytest_t2i.prompts") / "words" / "internet_users.toml"))
    read = convert(path, read_toml(path), _File)
    if not read.source.strip():
        raise FileFormatError(path, 'expected source = "..." with where the numbers come from')
    wrong = {name: users for name, users in read.users.items() if not users > 0}
    if wrong:
        raise FileFormatError(path, f"expected numbers above 0, got {wrong}", where="[users]")
    return Footprints(read.users, read.source)
