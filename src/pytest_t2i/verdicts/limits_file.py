"""Limits files, and the metric that each of their limits is about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_t2i.adapters.metric_discovery import load_registered_metrics
from pytest_t2i.adapters.registry import brought_by_companion
from pytest_t2i.data import Limit, MetricInfo
from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError, shown
from pytest_t2i.metrics.info import INFO
from pytest_t2i.read_files import read_toml

FILE_NAME = "limits.toml"
KEYS = ("limit", "reason", "author")
TODO = "TODO"
"""Prefix of a text that is still to be written; ``t2i init`` leaves such texts."""
NAME_PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "similarity_gap": (
            "prompt", "denoising", "image", "ssim", "diff_pix", "resnet", "clip", "dino",
            "split_product",
        ),
        "total_variation_distance": ("model",),
    }
)  # fmt: skip
"""Parts that may follow a metric in the name of a limit; for a similarity gap, its spaces."""
ENCODER = ":"
"""Separator in the name of a space that is an encoder with its weights: ``timm:resnet-50``."""
NEAR = 0.75
"""Similarity to a known name above which another name counts as a typing error."""
MARGIN = ".margin"
"""Suffix of the name of a tolerated worsening against a baseline."""


@dataclass(slots=True)
class LimitFiles:
    """The limits of all tests; each file is read once."""

    root: Path
    """Folder where the search for a file ends."""
    given: Path | None = None
    """File of --t2i-limits; None takes the nearest file of a test."""
    _read: dict[Path, dict[str, Limit]] = field(default_factory=dict)

    def of(self, test_file: Path) -> tuple[dict[str, Limit], Path | None]:
        """Return the limits of a test, and their file."""
        file = self.given or nearest_limits_file(test_file, self.root)
        if file is None:
            return {}, None
        if file not in self._read:
            self._read[file] = read_limits(file)
        return self._read[file], file

    def look_up(self, name: str, test_file: Path) -> Limit:
        """Return the limit of this name for a test; UnknownNameError names the file."""
        return look_up(name, *self.of(test_file))

    def with_bound(self, name: str, bound: float, test_file: Path) -> Limit:
        """Return the limit of a bound in code for a test; ``with_bound`` has the errors."""
        return with_bound(name, bound, "", *self.of(test_file))


def with_bound(
    name: str, bound: float, reason: str, limits: Mapping[str, Limit], file: Path | None
) -> Limit:
    """Return the limit of a bound in code, with reason and author of the file where it agrees.

    Raises ConfigurationError where the file has another bound of this name: one of the two would
    hold without a word.
    """
    limit, recorded = checked_limit(name, bound, reason), limits.get(name)
    if recorded is None:
        return limit
    _check_bounds_agree(name, limit.bound, limits, file)
    return replace(recorded, reason=limit.reason or recorded.reason)


def _check_bounds_agree(
    name: str, bound: float, limits: Mapping[str, Limit], file: Path | None
) -> None:
    """Raise ConfigurationError where the file has another bound of this name than code."""
    recorded = limits.get(name)
    if recorded is not None and not math.isclose(recorded.bound, bound, abs_tol=1e-12):
        raise ConfigurationError(
            f"limit {name!r} is given twice: {bound:g} in code, {recorded.bound:g} in {file}. "
            f"Keep one: write limit({name!r}) for that of the file, or remove it there. A second "
            f"limit on the same metric has a name of its own: limit('{name}.strict', {bound:g})"
        )


def look_up(name: str, limits: Mapping[str, Limit], file: Path | None) -> Limit:
    if not limits and file is None:
        raise ConfigurationError(f"limit {name!r} is not known. {NO_FILE}")
    if name not in limits:
        raise UnknownNameError("limit", name, limits, f"It is looked up in {file}.")
    return limits[name]


NO_FILE = (
    "There is no limits.toml beside or above the test: write one, such as\n"
    "    [model_bias_score]\n    limit = 0.2\n"
    "or pass --t2i-limits FILE."
)


def read_limits(path: Path) -> dict[str, Limit]:
    """Read the limits of one TOML file, by name.

    ``[similarity_gap.image]`` is ``similarity_gap.image``. A value is a number, or a table of
    limit, reason and author. FileFormatError names the key.
    """
    # The limits of the table of a limits file, by name; FileFormatError names the key.
    table = read_toml(path)
    limits: dict[str, Limit] = {}
    _collect(path, table, "", limits)
    return limits


def _collect(path: Path, table: Mapping[str, Any], prefix: str, limits: dict[str, Limit]) -> None:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if prefix and not isinstance(value, dict) and key not in _parts(name):
            names = (*KEYS, *_parts(name))
            where = f"key {prefix.rstrip('.')!r}"
            raise FileFormatError(path, str(UnknownNameError("key", key, names)), where=where)
        inner = value if isinstance(value, dict) else {"limit": value}
        if "limit" in inner:
            if name in limits:
                raise FileFormatError(
                    path, "a limit of this name is given twice.", where=f"key {name!r}"
                )
            try:
                grounds = inner.get("reason", ""), inner.get("author", "")
                limits[name] = checked_limit(name, inner["limit"], *grounds)
            except ConfigurationError as error:
                raise FileFormatError(path, str(error), where=f"key {name!r}") from None
        rest = {k: v for k, v in inner.items() if k not in KEYS}
        if "limit" not in inner and not rest:
            raise FileFormatError(path, "expected a table with a limit.", where=f"key {name!r}")
        _collect(path, rest, f"{name}.", limits)


def checked_limit(name: str, bound: Any, reason: Any = "", author: Any = "") -> Limit:
    """Return a limit whose metric exists and whose bound lies in the metric's range.

    A reason or author that is still to be written, ``TODO ...``, becomes "". Raises
    ConfigurationError or UnknownNameError for anything else.
    """
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise ConfigurationError(f"expected a number as limit {name!r}, got {shown(bound)}")
    info = metric_of_limit(name)
    _check_part(name)
    if name.endswith(MARGIN):
        if not 0 <= bound < float("inf"):
            raise ConfigurationError(f"a margin is at least 0, got {name}={bound}")
    elif not info.low <= bound <= info.high:
        raise ConfigurationError(
            f"limit {name!r}: {info.name} lies between {info.low:g} and {info.high:g}, got {bound}"
        )
    return Limit(
        name,
        float(bound),
        _by_a_person(name, "reason", reason),
        _by_a_person(name, "author", author),
    )


def _by_a_person(name: str, key: str, text: Any) -> str:
    if not isinstance(text, str):
        raise ConfigurationError(f"expected a text as {key} of {name!r}, got {shown(text)}")
    text = text.strip()
    return "" if text.upper().startswith(TODO) else text


def _parts(name: str) -> tuple[str, ...]:
    """Return the names that may follow in a limit's name; none after its margin."""
    base, _, part = name.partition(".")
    return () if "." in part else (*NAME_PARTS.get(base, ()), MARGIN.lstrip("."))


def _check_part(name: str) -> None:
    """Raise UnknownNameError for a name that is nearly a known one, or of an unknown space.

    Other names are free: ``model_bias_score.strict`` is a second limit on the same metric.
    """
    base, _, part = name.partition(".")
    first = part.partition(".")[0]
    choices = _parts(f"{base}.{first}")
    if not first or first in choices or ENCODER in first:
        return
    if base == "similarity_gap" or get_close_matches(first, (*choices, *KEYS), cutoff=NEAR):
        raise UnknownNameError("limit", name, [base, *(f"{base}.{choice}" for choice in choices)])


def metric_of_limit(name: str) -> MetricInfo:
    base = name.partition(".")[0]
    if base not in INFO:
        load_registered_metrics()
    if base not in INFO:
        raise UnknownNameError("limit", name, INFO, brought_by_companion("metric", base))
    return INFO[base]


def nearest_limits_file(test_file: Path, root: Path) -> Path | None:
    """Return limits.toml beside the test or in the nearest folder above, up to the root."""
    for folder in [test_file.parent, *test_file.parent.parents]:
        candidate = folder / FILE_NAME
        if candidate.is_file():
            return candidate
        if folder == root:
            return None
    return None
