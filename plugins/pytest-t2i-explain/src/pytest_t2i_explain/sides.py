"""What a run and its baseline consist of, side by side, component by component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_t2i import Baseline, RunRecord

PART = "part "
"""Prefix of the facts of a model that are digests of its parts."""
SHORT = 12
"""Number of characters of a digest that are shown."""
KINDS = {
    "text_encoder": "text encoder",
    "tokenizer": "tokenizer",
    "unet": "denoiser",
    "transformer": "denoiser",
    "prior": "denoiser",
    "vae": "decoder",
    "vqvae": "decoder",
    "scheduler": "scheduler",
}
"""Beginning of a part's name -> what the part does."""
MODEL, SCHEDULER, CHANGES, CALL, NUMBERS = "model", "scheduler", "changes", "call", "number format"
MITIGATION, DETECTOR, WORDS = "mitigation", "detector", "words"
LIBRARIES, DEVICE = "libraries", "device"
ARGUMENTS = {
    "steps": ("steps",),
    "guidance": ("guidance",),
    "size": ("width", "height"),
    "negative prompt": ("negative_prompt",),
}
"""Component -> its fields of the generation settings."""
NOT_SHOWN = ("pytest",)
"""Parts of the environment that make no picture and judge none."""
NONE = "none"


@dataclass(frozen=True, slots=True)
class Component:
    """One component of both sides."""

    name: str
    """Name of the pipeline's part, or of the setting."""
    kind: str
    """What it is: denoiser, decoder, argument ..."""
    before: str | None
    """Its version in the baseline in readable words; None where it is not known."""
    now: str | None
    """Its version in the run; None where it is not known."""

    @property
    def is_known(self) -> bool:
        return self.before is not None and self.now is not None

    @property
    def changed(self) -> bool:
        """Whether both versions are known, and differ."""
        return self.is_known and self.before != self.now


@dataclass(frozen=True, slots=True)
class Side:
    """The facts of one side: of the baseline, or of the run."""

    address: str
    """The model as it was named; "" where it is not known."""
    fingerprint: str
    model: Mapping[str, str] | None
    """Readable facts of the model; None where none are kept."""
    generation: Mapping[str, Any]
    detector: str
    detector_fingerprint: str
    mitigation: str
    """"" without one."""
    environment: Mapping[str, Any]

    @property
    def has_parts(self) -> bool:
        return any(name.startswith(PART) for name in self.model or ())

    def part(self, name: str) -> str | None:
        facts = self.model or {}
        if name == SCHEDULER:
            return _joined(facts.get("scheduler"), facts.get("scheduler_config"))
        return facts.get(f"{PART}{name}")

    @property
    def parts(self) -> list[str]:
        return [name.removeprefix(PART) for name in self.model or () if name.startswith(PART)]


def side_of_run(record: RunRecord) -> Side:
    provenance, settings = record.provenance, record.settings
    model = provenance.get("model")
    facts = {k: str(v) for k, v in model.items()} if isinstance(model, Mapping) else None
    detectors = provenance.get("detectors")
    names = [*detectors] if isinstance(detectors, Mapping) else []
    mitigation = settings.get("mitigation")
    return Side(
        str(settings.get("model") or record.model),
        str((facts or {}).get("fingerprint", "")),
        facts,
        _mapping(provenance.get("generation")),
        names[0] if names else "",
        str(detectors[names[0]]) if isinstance(detectors, Mapping) and names else "",
        str(mitigation or ""),
        _mapping(provenance.get("environment")),
    )


def side_of_baseline(baseline: Baseline) -> Side:
    """Return the facts of a baseline; that of detectors alone has none of a model."""
    conditions, components = baseline.conditions, baseline.components
    return Side(
        components.address if components else "",
        baseline.model_fingerprint,
        components.model if components else None,
        _mapping(conditions.get("generation")),
        str(conditions.get("detector") or ""),
        str(conditions.get("detector_fingerprint") or ""),
        str(conditions.get("mitigation") or ""),
        baseline.environment,
    )


def component_table(
    before: Side, now: Side, texts: Mapping[str, tuple[str, str]] | None = None
) -> list[Component]:
    """Return every component of both sides, those of the model first."""
    return [
        *_of_model(before, now),
        *_of_arguments(before, now),
        Component(MITIGATION, "mitigation", before.mitigation or NONE, now.mitigation or NONE),
        Component(
            DETECTOR,
            "detector",
            _joined(before.detector, before.detector_fingerprint),
            _joined(now.detector, now.detector_fingerprint),
        ),
        Component(
            WORDS,
            "words of the prompts",
            "; ".join(sorted(old for old, _ in (texts or {}).values())),
            "; ".join(sorted(new for _, new in (texts or {}).values())),
        ),
        *_of_environment(before, now),
    ]


def _of_model(before: Side, now: Side) -> Iterator[Component]:
    """Yield the model's parts; or the model as a whole where the sides are not of one class."""
    same_model = bool(before.fingerprint) and before.fingerprint == now.fingerprint
    old, new = before.model or {}, now.model or {}
    if before.model is None and same_model:
        # Equal fingerprints are equal parts.
        old = new
        from dataclasses import replace

        before = replace(before, model=new)
    by_parts = before.has_parts and now.has_parts and old.get("pipeline") == new.get("pipeline")
    if not by_parts:
        yield Component(MODEL, "model", _model_words(before), _model_words(now))
        return
    for name in dict.fromkeys([*before.parts, *now.parts, SCHEDULER]):
        yield Component(
            name, _component_kind(name), before.part(name) or NONE, now.part(name) or NONE
        )
    for name, key, kind in (
        (CHANGES, "changes", "changed weights"),
        (CALL, "extra", "argument"),
        (NUMBERS, "dtype", "number format"),
    ):
        yield Component(name, kind, _short(old.get(key, NONE)), _short(new.get(key, NONE)))


def _of_arguments(before: Side, now: Side) -> Iterator[Component]:
    for name, keys in ARGUMENTS.items():
        yield Component(
            name, "argument", _argument(before.generation, keys), _argument(now.generation, keys)
        )


def _of_environment(before: Side, now: Side) -> Iterator[Component]:
    device = [None if s.model is None else s.model.get("device", NONE) for s in (before, now)]
    if before.fingerprint and before.fingerprint == now.fingerprint:
        device = [device[1]] * 2
    yield Component(DEVICE, "environment", *device)
    names = [name for name in {**before.environment, **now.environment} if name not in NOT_SHOWN]
    differing = [n for n in names if before.environment.get(n) != now.environment.get(n)]
    yield Component(
        LIBRARIES,
        "environment",
        _versions(before.environment, differing) if before.environment else None,
        _versions(now.environment, differing) if now.environment else None,
    )


def _component_kind(part: str) -> str:
    """Return what a part of a pipeline does.

    >>> _component_kind("text_encoder_2"), _component_kind("safety_checker")
    ('text encoder', 'part')
    """
    return next((kind for start, kind in KINDS.items() if part.startswith(start)), "part")


def _model_words(side: Side) -> str | None:
    if not side.fingerprint:
        return None
    kind = (side.model or {}).get("pipeline", "")
    return _joined(side.address or None, kind, side.fingerprint)


def _versions(environment: Mapping[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name} {environment.get(name, NONE)}" for name in names)


def _argument(generation: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    if not generation:
        return None
    values = [generation.get(key) for key in keys]
    return "x".join("default" if value is None else str(value) for value in values)


def _joined(*values: str | None) -> str | None:
    words = [_short(value) for value in values if value]
    return " ".join(words) or None


def _short(value: str) -> str:
    """Return a value with a digest shortened.

    >>> _short("sha256:" + 64 * "a"), _short("float32")
    ('aaaaaaaaaaaa', 'float32')
    """
    plain = value.removeprefix("sha256:")
    is_digest = len(plain) == 64 and set(plain) <= set("0123456789abcdef")  # noqa: PLR2004
    return plain[:SHORT] if is_digest else value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
