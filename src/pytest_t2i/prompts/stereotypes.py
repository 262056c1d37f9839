"""Stereotypes to look for: a concept's prompt, an attribute, and its real-world share (OASIS)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_t2i.data import Attribute, Prompt
from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.files import read_toml
from pytest_t2i.prompts.axes import Axis, builtin_axes


@dataclass(frozen=True, slots=True)
class Stereotype:
    """An attribute whose share among the images of a concept is compared with the real world."""

    prompt: Prompt
    attribute: Attribute
    expected: float
    """P*(A | C), the real-world share in [0, 1] (OASIS Def. 1)."""
    source: str = ""

    def __post_init__(self) -> None:
        if not 0.0 <= self.expected <= 1.0:
            raise ConfigurationError(
                f"expected is a share between 0 and 1, got expected={self.expected!r}"
            )

    @property
    def id(self) -> str:
        """Stable, readable id: ``nationality-iranian-beard``."""
        return f"{self.prompt.id}-{Prompt('', '', self.attribute.name).id.lstrip('-')}"


@cache
def builtin_stereotypes() -> tuple[Stereotype, ...]:
    """The fifteen stereotypes of OASIS Table 1 with their real-world shares."""
    return read_stereotypes(Path(str(files("pytest_t2i.prompts") / "words" / "oasis.toml")))


def read_stereotypes(path: str | Path, axis: Axis | None = None) -> tuple[Stereotype, ...]:
    """Stereotypes from a TOML file with one ``[[stereotype]]`` table each.

    Keys: concept, attribute, positive, negative, expected (0 to 1), source; the prompt is the
    concept in the template of ``axis`` (default: nationality). FileFormatError says what is
    wrong and where.
    """
    path = Path(path)
    rows = read_toml(path).get("stereotype")
    if not isinstance(rows, list) or not rows:
        raise FileFormatError(path, "expected at least one [[stereotype]] table, found none.")
    axis = axis or builtin_axes().nationality
    return tuple(_stereotype(path, axis, number, row) for number, row in enumerate(rows, start=1))


def _stereotype(path: Path, axis: Axis, number: int, row: dict[str, Any]) -> Stereotype:
    where = f"[[stereotype]] number {number}"
    for key in ("concept", "attribute", "positive", "negative"):
        if not isinstance(row.get(key), str):
            raise FileFormatError(path, f"expected text under {key!r}.", where=where)
    if not isinstance(row.get("expected"), int | float):
        raise FileFormatError(path, "expected a share under 'expected'.", where=where)
    concept = row["concept"]
    prompt = Axis(axis.name, axis.template, (concept,), axis.indicator).prompts()[0]
    attribute = Attribute(row["attribute"], row["positive"], row["negative"])
    try:
        return Stereotype(prompt, attribute, float(row["expected"]), row.get("source", ""))
    except ConfigurationError as error:
        raise FileFormatError(path, str(error), where=where) from None
