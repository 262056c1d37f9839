"""Baseline files: a recorded run as one JSON file under version control, and its comparability."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from pytest_t2i.data import EMPTY, Count, Moment, Prompt, Undetected, digest, sign_of
from pytest_t2i.errors import BaselineMismatchError, FileFormatError
from pytest_t2i.files import write_whole
from pytest_t2i.read_files import convert, read_json

SCHEMA = "pytest-t2i/baseline/1"
UNDETECTED = "undetected:"
"""Prefix, in the file, of the reason for which an image has no label."""
SHOWN = 5
"""Number of absent prompts that a message names."""
FEWEST_IMAGES = 2
"""Fewest images of a prompt that can be compared."""
Part = TypeVar("Part")
SEAL_LENGTH = 16
"""Number of hex digits of a seal."""
SEALS = "seals"
"""Key of the seals of all parts of the file but the prompts, each of which holds its own."""
COMPARED = ("detector", "detector_fingerprint", "generation", "mitigation")
"""Conditions that must be equal for a comparison."""


@dataclass(frozen=True, slots=True)
class RecordedPrompt:
    """One prompt of a baseline, with the label of each seed's image."""

    id: str
    seeds: tuple[int, ...]
    said: tuple[str | Undetected, ...]
    """Label of each seed's image, or the reason for which it has none."""

    @property
    def signs(self) -> list[int]:
        """Sign of each image: +1 male, -1 female, 0 undetected."""
        return [sign_of(word) for word in self.said]

    @property
    def male(self) -> int:
        return self.said.count("male")

    @property
    def female(self) -> int:
        return self.said.count("female")


@dataclass(frozen=True, slots=True)
class ComponentFacts:
    """What a run's model, settings and detector consist of, to tell later what changed."""

    address: str
    """The model as it was named, paths of this machine shortened."""
    model: Mapping[str, str] = field(default_factory=dict)
    """Readable facts of the model: digests of its parts, scheduler, number format."""
    detector: Mapping[str, str] = field(default_factory=dict)
    """Readable facts of the deciding detector."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A recorded run to compare with.

    >>> from pytest_t2i import Baseline
    >>> Baseline("sdxl", "0123", {"detector": "clip-enhance"}, {}, {}).conditions["detector"]
    'clip-enhance'
    """

    model: str
    model_fingerprint: str
    conditions: Mapping[str, Any]
    """Conditions that must be equal: detector, detector_fingerprint, generation, mitigation."""
    environment: Mapping[str, Any]
    """Libraries and platform; differences are reported, and do not prevent a comparison."""
    prompts: Mapping[str, RecordedPrompt]
    """Recorded prompts by prompt text."""
    created: str = ""
    seed: int = 0
    images: int = 0
    audits: Mapping[str, Any] = field(default_factory=dict)
    """Record of each audit as plain values, by the name of the audit."""
    components: ComponentFacts | None = None
    """What the model and the detector consist of; None in a run without a model."""
    shared_seeds: str = ""
    """Why nothing of the model is judged by these pictures; "" where prompts share no seeds."""
    file: Path = field(default=Path("baseline"), compare=False)
    """File that the baseline was read from."""
    _parts: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def part(self, audit: str, kind: type[Part]) -> Part | None:
        """Return an audit's record as a ``kind``; None where the audit recorded nothing.

        Raises FileFormatError for another type.
        """
        plain = self.audits.get(audit)
        if plain is None:
            return None
        if audit not in self._parts:
            self._parts[audit] = convert(self.file, plain, kind, where=f"audits.{audit}")
        return cast("Part", self._parts[audit])

    def write(self, path: Path) -> None:
        """Write the whole file, sorted for readable diffs of two baselines."""
        plain: dict[str, Any] = {
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
        if self.components is not None:
            plain["components"] = asdict(self.components)
        if self.shared_seeds:
            plain["shared_seeds"] = self.shared_seeds
        content = json.dumps(sealed(plain), indent=1, sort_keys=True, ensure_ascii=False)
        # One line per list keeps the file short enough to review.
        write_whole(path, (_fold_lists(content) + "\n").encode())


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt as stored in the file."""

    id: str
    seeds: list[int]
    labels: list[str]


@dataclass(frozen=True, slots=True)
class _Conditions:
    """The conditions that must be equal; further keys are ignored."""

    detector: str | None = None
    detector_fingerprint: str | None = None
    generation: dict[str, float | str | None] | None = None
    mitigation: str | None = None


@dataclass(frozen=True, slots=True)
class _File:
    """The whole file, with tables that are not yet converted."""

    model: str
    model_fingerprint: str
    conditions: dict[str, Any]
    environment: dict[str, str | None]
    prompts: dict[str, Any]
    created: Moment
    seed: int
    images: Count
    audits: dict[str, Any] = field(default_factory=dict)
    components: ComponentFacts | None = None
    shared_seeds: str = ""


def read_baseline(path: Path, kinds: Mapping[str, Any] = EMPTY) -> Baseline:
    """Read a baseline file, and check its seals.

    Args:
        path: a file that ``--t2i-save-baseline`` wrote.
        kinds: types of audits' records by the names of the audits; a record of these is checked.

    Raises:
        FileFormatError: the file is absent or no baseline, or was changed since it was recorded;
            the message names the prompts and parts.

    >>> from pathlib import Path
    >>> from pytest_t2i import read_baseline
    >>> def recorded_model(file: Path) -> str:
    ...     return read_baseline(file).model
    """
    remedy = (
        "Record one: pytest --t2i-save-baseline FILE, in a script audit.save_baseline(FILE); "
        "t2i compare compares two run.json files"
    )
    plain = read_json(path, SCHEMA, kind="baseline", remedy=remedy)
    content = convert(path, plain, _File)
    convert(path, content.conditions, _Conditions, where="conditions")
    prompts = {text: _prompt(path, text, plain) for text, plain in content.prompts.items()}
    _check_seals(path, plain)
    baseline = Baseline(
        content.model,
        content.model_fingerprint,
        content.conditions,
        content.environment,
        prompts,
        content.created,
        content.seed,
        content.images,
        content.audits,
        content.components,
        content.shared_seeds,
        path,
    )
    for name, kind in kinds.items():
        baseline.part(name, kind)
    return baseline


def sealed(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of a file with a seal for each prompt and each further part."""
    prompts = {
        text: prompt | {"seal": _seal_of_prompt(text, prompt)}
        for text, prompt in plain["prompts"].items()
    }
    values = {name: value for name, value in plain.items() if name != SEALS}
    values["prompts"] = prompts
    return values | {SEALS: _seals(json.loads(json.dumps(values)))}


def _seal_of_prompt(text: str, prompt: Mapping[str, Any]) -> str:
    """Return the seal of a prompt: a digest of its text and of all that is recorded of it."""
    values = {name: value for name, value in prompt.items() if name != "seal"}
    return digest([text, values])[:SEAL_LENGTH]


def _seals(plain: Mapping[str, Any]) -> dict[str, str]:
    """Return the seal of every other part: each audit, each further key, and the list of prompts.

    A seal detects accidents and edits, as the seals of the store's rows do. It does not protect
    against someone who changes the seal, too.
    """
    parts = {name: value for name, value in plain.items() if name not in (SEALS, "prompts")}
    audits = parts.pop("audits", {})
    parts |= {f"audits.{name}": record for name, record in audits.items()}
    parts["prompts"] = sorted(plain["prompts"])
    return {name: digest(value)[:SEAL_LENGTH] for name, value in parts.items()}


def _check_seals(path: Path, plain: Mapping[str, Any]) -> None:
    """Raise FileFormatError that names every prompt and part whose seal differs."""
    recorded = plain.get(SEALS)
    before, now = recorded if isinstance(recorded, dict) else {}, _seals(plain)
    changed = [
        f"prompt {prompt['id']} ({text!r})"
        for text, prompt in plain["prompts"].items()
        if prompt.get("seal") != _seal_of_prompt(text, prompt)
    ]
    changed += [
        "the list of prompts" if name == "prompts" else name
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if changed:
        names = ", ".join(changed[:SHOWN]) + (" ..." if len(changed) > SHOWN else "")
        raise FileFormatError(
            path,
            f"expected the baseline as it was recorded, but its digests differ: {names}.",
            remedy="Take the file from version control again, or record a new one: "
            f"--t2i-save-baseline {path}",
        )


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
        words = tuple(map(word_of, prompt.labels))
    except ValueError as error:
        raise FileFormatError(path, str(error), where=where) from None
    return RecordedPrompt(prompt.id, tuple(prompt.seeds), words)


def as_text(word: str | Undetected) -> str:
    """Return a label, or the reason for none, as a baseline file stores it.

    >>> as_text("male"), as_text(Undetected.NO_FACE)
    ('male', 'undetected:no_face')
    """
    return f"{UNDETECTED}{word}" if isinstance(word, Undetected) else word


def word_of(text: str) -> str | Undetected:
    """Return the label, or the reason for none, that a baseline file stores as this text.

    >>> word_of("undetected:no_face")
    <Undetected.NO_FACE: 'no_face'>
    """
    if not text.startswith(UNDETECTED):
        return text
    try:
        return Undetected(text.removeprefix(UNDETECTED))
    except ValueError:
        reasons = ", ".join(Undetected)
        raise ValueError(
            f"expected undetected:REASON with one of {reasons}, got {text!r}."
        ) from None


FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def _short(condition: object) -> str:
    """Return a condition as a message shows it: of a fingerprint the first twelve digits.

    >>> _short("ab" * 32), _short("clip"), _short(None)
    ("'abababababab...'", "'clip'", 'None')
    """
    is_long = isinstance(condition, str) and FINGERPRINT.fullmatch(condition)
    return repr(f"{str(condition)[:12]}..." if is_long else condition)


def check_comparable(
    recorded: Baseline, now: Mapping[str, Any], prompts: Sequence[Prompt], *, force: bool
) -> list[str]:
    before, after = _flat(recorded.conditions), _flat(now)
    differences = [
        f"{key}: baseline {_short(before.get(key))}, now {_short(after.get(key))}"
        for key in after
        if before.get(key) != after.get(key)
    ]
    check_prompts(recorded, prompts)
    if differences and not force:
        raise BaselineMismatchError(
            f"the baseline of {recorded.model!r} was made under other settings: "
            + "; ".join(differences)
            + ". Run with the same settings, record a new baseline with --t2i-save-baseline, or "
            "pass --t2i-force-baseline to compare nevertheless."
        )
    return differences


def check_prompts(
    recorded: Baseline, prompts: Sequence[Prompt], images: int = FEWEST_IMAGES
) -> None:
    """Raise BaselineMismatchError for prompts absent from a baseline, or with a single image.

    A single image is always one-sided, so it shows neither a bias nor its change.
    """
    absent = [prompt.id for prompt in prompts if prompt.text not in recorded.prompts]
    if absent:
        names = ", ".join(absent[:SHOWN]) + (" ..." if len(absent) > SHOWN else "")
        counted = "1 prompt" if len(absent) == 1 else f"{len(absent)} prompts"
        raise BaselineMismatchError(
            f"the baseline of {recorded.model!r} has no result for {counted}: {names}. "
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
    """Return the conditions as one flat mapping: detector, steps, guidance, ..."""
    plain = {key: conditions.get(key) for key in COMPARED}
    generation = plain.pop("generation", None)
    return {**plain, **(generation if isinstance(generation, dict) else {"generation": generation})}


def library_differences(recorded: Baseline, now: Mapping[str, str]) -> list[str]:
    """Return the libraries and platform that differ from the baseline; they are reported only."""
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
