"""Internet users by nationality, from a file that names its source."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import msgspec

from pytest_t2i.errors import FileFormatError
from pytest_t2i.read_files import convert, read_toml

FORM = """\
source = "World Population Review 2024"

[users]
Indian = 881.3
Mexican = 96.8
"""
"""An example of a file: nationalities as in the stereotypes, users in millions."""


@dataclass(frozen=True, slots=True)
class Footprints:
    """Internet users by nationality, with the source of the numbers."""

    users: dict[str, float]
    """Nationality -> users in millions."""
    source: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    users: dict[str, float]
    source: str


def read_footprints(path: Path | None = None) -> Footprints:
    """Return the content of a TOML file with ``source`` and a table ``[users]``.

    Without a path, the numbers are those of OASIS 4.2.

    Raises FileFormatError that says what is wrong and where.

    >>> read_footprints().users["Indian"]
    881.3
    """
    path = path or Path(str(files("pytest_t2i.prompts") / "words" / "internet_users.toml"))
    content = convert(path, read_toml(path), _File)
    if not content.source.strip():
        raise FileFormatError(path, 'expected source = "..." with where the numbers come from')
    for name, users in content.users.items():
        if not (users > 0 and math.isfinite(users)):
            problem = f"expected millions of users, a finite number above 0, got {name} = {users}."
            raise FileFormatError(path, problem, where="[users]", remedy="Correct the number.")
    return Footprints(content.users, content.source)


def check_names(path: Path, footprints: Footprints, concepts: Collection[str]) -> None:
    """Raise FileFormatError for a name that differs from a concept in capitals or spaces only.

    Such a name would not be used. The message names the concept that is meant.
    """
    meant = {concept.casefold(): concept for concept in concepts}
    for name in footprints.users:
        concept = meant.get(name.strip().casefold(), name)
        if concept != name and name not in concepts:
            problem = f"unknown nationality {name!r}. Did you mean {concept!r}?"
            raise FileFormatError(
                path, problem, where="[users]", remedy="Write it as in the stereotypes."
            )


def of_no_concept(footprints: Footprints, concepts: Collection[str]) -> list[str]:
    """Return the names that are no concepts, each with the concept that may be meant.

    >>> of_no_concept(Footprints({"Indain": 1.0, "Danish": 5.9}, "mine"), ["Indian"])
    ['Indain (did you mean Indian?)', 'Danish']
    """
    # Only a file with such names needs it.
    from difflib import get_close_matches

    names = []
    for name in sorted(set(footprints.users) - set(concepts)):
        free = [concept for concept in concepts if concept not in footprints.users]
        close = get_close_matches(name, free, n=1)
        names.append(f"{name} (did you mean {close[0]}?)" if close else name)
    return sorted(names, key=lambda words: "?" not in words)
