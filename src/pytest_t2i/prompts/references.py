"""Reference distributions: the shares of labels that a prompt's images are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_t2i.data import EMPTY, Prompt
from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError, shown
from pytest_t2i.files import user_path
from pytest_t2i.read_files import convert, read_toml

UNIFORM = "uniform"
BUILT_IN = {"oasis": "oasis_shares.toml"}
"""Name of a built-in reference -> its file in ``words``."""
DEFAULT = "default"
TOLERANCE = 1e-6
"""How far the sum of shares may lie from 1, for rounding."""
PERCENT = 100.0

Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Reference:
    """The share of each label that a prompt's images should have, and the source of the shares.

    >>> Reference("uniform", "even shares").of(Prompt("a nurse", "profession", "nurse"),
    ...                                        ("male", "female"))
    {'male': 0.5, 'female': 0.5}
    """

    name: str
    """The name: "uniform", that of a built-in reference, or the path of a file."""
    source: str
    """The source of the shares."""
    shares: Mapping[str, Shares] = field(default_factory=lambda: EMPTY)
    """Concept or prompt id -> label -> share; {} without a default: even shares."""
    default: Shares | None = None
    """The shares of prompts that are not listed; None where such prompts are an error."""

    def of(self, prompt: Prompt, labels: Sequence[str]) -> dict[str, float]:
        """Return the share of each of a detector's labels for a prompt, by its id or its concept.

        A label that is not listed has a share of 0.

        Raises UnknownNameError for a prompt without shares, ConfigurationError for a label that
        the detector does not have.
        """
        if not self.shares and self.default is None:
            return dict.fromkeys(labels, 1.0 / len(labels))
        shares = self._listed(prompt)
        strange = [label for label in shares if label not in labels]
        if strange:
            raise ConfigurationError(
                f"reference {self.name}: the detector has no label {strange[0]!r} (given for "
                f"{prompt.concept!r}). Its labels: {', '.join(labels)}."
            )
        return {label: float(shares.get(label, 0.0)) for label in labels}

    def _listed(self, prompt: Prompt) -> Shares:
        for name in (prompt.id, replace(prompt, tag="").id, prompt.concept):
            if name in self.shares:
                return self.shares[name]
        if self.default is not None:
            return self.default
        raise UnknownNameError(
            f"concept or prompt id in reference {self.name}:",
            prompt.concept,
            self.shares,
            "Give it a table of shares, or add [default].",
        )


def uniform() -> Reference:
    """Return the reference with even shares of all labels of a detector."""
    return Reference(UNIFORM, "even shares")


def read_reference(name: str | Path) -> Reference:
    """Return a reference by its name ("uniform", "oasis") or from a TOML file.

    The file has ``source = "..."`` (required), a table of label = share for each concept or prompt
    id, and, if prompts that are not listed have shares too, a table ``[default]``. The shares of
    a table lie between 0 and 1 and sum to 1.

    Raises FileFormatError that names the file and the table.

    >>> read_reference("oasis").shares["Indian"]["male"]
    0.51
    """
    if name == UNIFORM:
        return uniform()
    if isinstance(name, str) and name in BUILT_IN:
        return _built_in(name)
    path = user_path(str(name))
    return _read(path, str(path), read_toml(path))


@cache
def _built_in(name: str) -> Reference:
    path = Path(str(files("pytest_t2i.prompts") / "words" / BUILT_IN[name]))
    return _read(path, name, read_toml(path))


def _read(path: Path, name: str, content: dict[str, Any]) -> Reference:
    source = content.pop("source", None)
    if not isinstance(source, str) or not source.strip():
        raise FileFormatError(
            path,
            f'expected source = "..." with where the shares come from, got {shown(source)}.',
            remedy="A share without its source is not accepted.",
        )
    tables = {concept: _shares(path, concept, table) for concept, table in content.items()}
    default = tables.pop(DEFAULT, None)
    if not tables and default is None:
        raise FileFormatError(path, "expected at least one table of shares, found none.")
    return Reference(name, source.strip(), tables, default)


def _shares(path: Path, concept: str, table: Any) -> Shares:
    where = f"[{concept}]"
    if not isinstance(table, dict) or not table:
        problem = f"expected a table of label = share, got {shown(table)}."
        raise FileFormatError(path, problem, where=where)
    share_of = "a share between 0 and 1"
    shares = convert(path, table, dict[str, float], where=where, number=share_of)
    _check_sum(path, where, shares.values())
    for label, share in shares.items():
        if not label.strip() or not label.isprintable():
            problem = f"expected the name of a label, got {shown(label)} = {share!r}."
            raise FileFormatError(path, problem, where=where)
        if not 0.0 <= share <= 1.0:
            problem = f"expected {share_of}, got {label}={share!r}."
            raise FileFormatError(path, problem, where=where)
    return shares


def _check_sum(path: Path, where: str, shares: Iterable[float]) -> None:
    total = float(sum(shares))
    if abs(total - PERCENT) <= TOLERANCE * PERCENT:
        raise FileFormatError(
            path,
            "the shares sum to 100: expected shares, got percentages.",
            where=where,
            remedy="Divide them by 100.",
        )
    # Written with "not", so that NaN is refused, too.
    if not abs(total - 1.0) <= TOLERANCE:
        raise FileFormatError(path, f"the shares sum to {total:g}, expected 1.", where=where)
