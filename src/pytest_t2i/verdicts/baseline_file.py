"""Baselines: a recorded run as one JSON file that people commit, and the comparison with it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, cast

from pytest_t2i.data import EMPTY, Count, Moment, Prompt, Undetected, sign_of
from pytest_t2i.errors import BaselineMismatchError, FileFormatError
from pytest_t2i.files import convert, read_json, write_whole
from pytest_t2i.verdicts.canary_prompts import CanaryPrompt, as_plain, read_canary

SCHEMA = "pytest-t2i/baseline/2"
OLDER = ("pytest-t2i/baseline/1",)
"""Schemas in which what audits record stood at the top of the file."""
UNDETECTED = "undetected:"
"""Begins, in the file, what is no label but the reason why there is none."""
SHOWN = 5
"""Absent prompts that are named."""
FEWEST_IMAGES = 2
"""Images of a prompt below which nothing can be compared."""
Part = TypeVar("Part")
COMPARED = ("detector", "detector_fingerprint", "generation", "mitigation")
"""What must be equal for a comparison to mean anything."""


@dataclass(frozen=True, slots=True)
class RecordedPrompt:
    """One prompt of a baseline: what the detector said of each seed's image."""

    id: str
    seeds: tuple[int, ...]
    said: tuple[str | Undetected, ...]
    """The label of each seed's image, or why it has none."""

    @property
    def signs(self) -> list[int]:
        """+1 male, -1 female, 0 undetected."""
        return [sign_of(word) for word in self.said]

    @property
    def male(self) -> int:
        """Images labelled male."""
        return self.said.count("male")

    @property
    def female(self) -> int:
        """Images labelled female."""
        return self.said.count("female")


@dataclass(frozen=True, slots=True)
class Baseline:
    """A recorded run to compare with."""

    model: str
    model_fingerprint: str
    conditions: Mapping[str, Any]
    """detector, detector_fingerprint, generation: what must be equal to compare."""
    environment: Mapping[str, Any]
    """Libraries and platform; differences are told, not refused."""
    prompts: Mapping[str, RecordedPrompt]
    """By prompt text."""
    created: str = ""
    seed: int = 0
    images: int = 0
    audits: Mapping[str, Any] = field(default_factory=dict)
    """Name of an audit -> what it recorded, as plain values."""
    formerly: Mapping[str, Any] = field(default_factory=dict)
    """What audits recorded at the top of a file of an older schema."""
    canary: tuple[CanaryPrompt, ...] = ()
    """Fixed prompts with their pictures, to notice another model; () where none were asked for."""
    file: Path = field(default=Path("baseline"), compare=False)
    """Where it was read."""
    _parts: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def part(self, audit: str, kind: type[Part], formerly: str = "") -> Part | None:
        """What an audit recorded, as this type; None where it recorded nothing.

        ``formerly`` is where that stood in files of an older schema. Raises FileFormatError for
        what is none.
        """
        known = self.audits.get(audit, self.formerly.get(formerly))
        if known is None:
            return None
        if audit not in self._parts:
            where = f"audits.{audit}" if audit in self.audits else formerly
            self._parts[audit] = convert(self.file, known, kind, where=where)
        return cast("Part", self._parts[audit])

    def write(self, path: Path) -> None:
        """Write the file whole, sorted so that a diff of two baselines reads well."""
        plain = {
            "schema": SCHEMA,
            "created": self.created,
            "model": self.model,
            "model_fingerprint": self.model_fingerprint,
            "seed": self.seed,
            "images": self.images,
            "conditions": dict(self.conditions),
            "environment": dict(self.environment),
            "prompts": {
                text: {"id": p.id, "seeds": list(p.seeds), "labels": [as_text(w) for w in p.said]}
                for text, p in self.prompts.items()
            },
        }
        if self.audits:
            plain["audits"] = dict(self.audits)
        if self.canary:
            plain["canary"] = as_plain(self.canary)
        content = json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False)
        # One line per list keeps the file short enough to review.
        write_whole(path, (_fold_lists(content) + "\n").encode())


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt as it stands in the file."""

    id: str
    seeds: list[int]
    labels: list[str]


@dataclass(frozen=True, slots=True)
class _Conditions:
    """What must be equal to compare; further keys are left out."""

    detector: str | None = None
    detector_fingerprint: str | None = None
    generation: dict[str, float | str | None] | None = None
    mitigation: str | None = None


@dataclass(frozen=True, slots=True)
class _File:
    """The whole file, its tables not yet read."""

    model: str
    model_fingerprint: str
    conditions: dict[str, Any]
    environment: dict[str, str | None]
    prompts: dict[str, Any]
    created: Moment
    seed: int
    images: Count
    audits: dict[str, Any] = field(default_factory=dict)
    canary: list[Any] = field(default_factory=list)


def read_baseline(path: Path, kinds: Mapping[str, Any] = EMPTY) -> Baseline:
    """A baseline file; FileFormatError says what is wrong and where.

    ``kinds`` are the types of what audits recorded, by the name of the audit.
    """
    remedy = f"Record one: --t2i-save-baseline {path}"
    plain = read_json(path, SCHEMA, *OLDER, kind="baseline", remedy=remedy)
    whole = convert(path, plain, _File)
    convert(path, whole.conditions, _Conditions, where="conditions")
    baseline = Baseline(
        whole.model,
        whole.model_fingerprint,
        whole.conditions,
        whole.environment,
        {text: _prompt(path, text, plain) for text, plain in whole.prompts.items()},
        whole.created,
        whole.seed,
        whole.images,
        whole.audits,
        {} if plain["schema"] == SCHEMA else _others(plain),
        read_canary(path, whole.canary),
        path,
    )
    for name, kind in kinds.items():
        baseline.part(name, kind)
    return baseline


def _others(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What an older file holds besides."""
    known = {"schema", *(each.name for each in fields(_File))}
    return {name: value for name, value in plain.items() if name not in known}


def _prompt(path: Path, text: str, plain: Any) -> RecordedPrompt:
    where = f"prompt {text!r}"
    prompt = convert(path, plain, _Prompt, where=where)
    if len(prompt.seeds) != len(prompt.labels):
        raise FileFormatError(
            path,
            f"expected a label for each of {len(prompt.seeds)} seeds, got {len(prompt.labels)}.",
            where=where,
        )
    try:
        said = tuple(map(word_of, prompt.labels))
    except ValueError as error:
        raise FileFormatError(path, str(error), where=where) from None
    return RecordedPrompt(prompt.id, tuple(prompt.seeds), said)


def as_text(word: str | Undetected) -> str:
    """A word as a baseline file keeps it.

    >>> as_text("male"), as_text(Undetected.NO_FACE)
    ('male', 'undetected:no_face')
    """
    return f"{UNDETECTED}{word}" if isinstance(word, Undetected) else word


def word_of(text: str) -> str | Undetected:
    """The word that stands so in a baseline file; ValueError for an unknown reason.

    >>> word_of("undetected:no_face")
    <Undetected.NO_FACE: 'no_face'>
    """
    if not text.startswith(UNDETECTED):
        return text
    try:
        return Undetected(text.removeprefix(UNDETECTED))
    except ValueError:
        known = ", ".join(Undetected)
        raise ValueError(f"expected undetected:REASON with one of {known}, got {text!r}.") from None


def check_comparable(
    recorded: Baseline, now: Mapping[str, Any], prompts: Sequence[Prompt], *, force: bool
) -> list[str]:
    """What differs between a baseline and this run.

    Raises BaselineMismatchError with the same list, unless forced. A prompt that the baseline
    does not have is refused even then: there is nothing to compare it with.
    """
    before, after = _flat(recorded.conditions), _flat(now)
    differences = [
        f"{key}: baseline {before.get(key)!r}, now {after.get(key)!r}"
        for key in after
        if before.get(key) != after.get(key)
    ]
    check_prompts(recorded, prompts)
    if differences and not force:
        raise BaselineMismatchError(
            f"the baseline of {recorded.model!r} was made under other settings: "
            + "; ".join(differences)
            + ". Run with the same settings, record a new baseline with --t2i-save-baseline, or "
            "pass --t2i-force-baseline to compare all the same."
        )
    return differences


def check_prompts(
    recorded: Baseline, prompts: Sequence[Prompt], images: int = FEWEST_IMAGES
) -> None:
    """Refuse prompts that a baseline does not have, and comparisons by single images.

    One image is always all of one gender, so it shows neither a bias nor its change.
    """
    absent = [prompt.id for prompt in prompts if prompt.text not in recorded.prompts]
    if absent:
        shown = ", ".join(absent[:SHOWN]) + (" ..." if len(absent) > SHOWN else "")
        counted = "1 prompt" if len(absent) == 1 else f"{len(absent)} prompts"
        raise BaselineMismatchError(
            f"the baseline of {recorded.model!r} has no result for {counted}: {shown}. "
            "Record a new one with --t2i-save-baseline, or deselect these tests."
        )
    for prompt in prompts:
        before = len(recorded.prompts[prompt.text].seeds)
        if min(before, images) < FEWEST_IMAGES:
            raise BaselineMismatchError(
                f"a comparison with a baseline needs at least {FEWEST_IMAGES} images per prompt: "
                f"{prompt.id} has {before} in the baseline, {images} are asked for now. Take more "
                "with --t2i-images, here or where the baseline is recorded."
            )


def _flat(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """detector, detector_fingerprint, steps, guidance, ... side by side."""
    plain = {key: conditions.get(key) for key in COMPARED}
    generation = plain.pop("generation", None)
    return {**plain, **(generation if isinstance(generation, dict) else {"generation": generation})}


def library_differences(recorded: Baseline, now: Mapping[str, str]) -> list[str]:
    """Libraries and platform that are not those of the baseline; told, not refused."""
    return [
        f"{name}: baseline {recorded.environment.get(name)}, now {value}"
        for name, value in now.items()
        if recorded.environment.get(name) != value
    ]


def _fold_lists(text: str) -> str:
    return re.sub(
        r"\[\s+([^\[\]{}]*?)\s+\]",
        lambda match: "[" + re.sub(r",\s+", ", ", match.group(1)) + "]",
        text,
    )
