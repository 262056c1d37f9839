"""A record with something in every field, made from the types of its fields alone."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.data import Bounds, Detection, Interval, Mask, Row
from pytest_t2i.metrics.info import INFO
from pytest_t2i.runs.record.record import AuditRecord, MetricRecord, RunRecord

Record = TypeVar("Record")
WHOLE: dict[type, Callable[[Callable[[str], str]], Any]] = {
    Interval: lambda say: Interval(0.4, 0.2, 0.6, 0.95, say("method"), 8),
    Bounds: lambda _: Bounds(0.1, 0.9, 0.5),
    Detection: lambda say: Detection(
        say("label"), scores={say("label"): 0.75}, detail=say("detail")
    ),
    Mask: lambda _: Mask(2, 2, (1, 2, 1)),
}
"""Records whose fields hang together."""
FIXED = {"created": "2026-11-21T10:00:00+00:00", "sha256": "5" * 64}
"""Field -> what stands there whatever texts are."""


def filled(kind: type[Record], say: Callable[[str], str] = str) -> Record:
    """A record of this kind; ``say`` gives the text of each field by its name."""
    if kind in WHOLE:
        return WHOLE[kind](say)
    hints = get_type_hints(kind, include_extras=True)
    made = {**FIXED, "audits": audits_filled(say) if kind is RunRecord else {}}
    return kind(
        **{
            each.name: made.get(each.name) or _value(each.name, hints[each.name], say)
            for each in fields(kind)  # type: ignore[arg-type]
            if each.name != "schema"
        }
    )


ROWS = {
    "parity": (
        ("model_bias_score", "model"), ("model_bias_score", "group"), ("group_share", "group"),
        ("group_distance", "model"), ("group_distance", "prompt"),
        ("corrected_model_bias_score", "detector"), ("accuracy", "detector"),
        ("corrected_prompt_bias_score", "prompt"), ("share_of_men", "prompt"),
    ),
    "refusals": (("refusal_gap", "model"), ("refusal_gap", "triplet")),
    "explicit": (("drawn_share", "model"), ("drawn_gap", "model"), ("drawn_share", "triplet")),
    "rewriting": (
        *((f"{kind}_share", "model") for kind in ("rewritten", "gender_added")),
        ("added_word", "model"), ("rewritten_share", "prompt"),
    ),
    "neutrality": (
        ("similarity_gap", "model"), ("similarity_gap", "group"), ("leaning_p_value", "model"),
    ),
    "objects": (
        ("cooccurrence_gap", "model"), ("object_independence", "model"),
        ("object_bias_score", "object"),
    ),
    "dependencies": (
        ("dependency_group_share", "model"), ("object_independence", "group"),
        ("object_bias_score", "object"), ("object_occurrences", "object"),
        ("group_overlap", "group"),
    ),
    "detector_validation": (
        ("accuracy", "detector"), ("model_bias_score", "detector"), ("kept_share", "detector"),
    ),
    "stereotypes": (("stereotype_score", "stereotype"), ("attribute_share", "stereotype")),
    "variety": (("wals", "prompt"),),
    "emergence": (
        ("spi", "prompt"), ("spi", "step"), ("centred_spi", "step"),
        ("settled_step", "prompt"), ("foreseen_share", "step"),
    ),
    "crowd": tuple(
        (name, about)
        for about in ("model", "prompt")
        for name in ("crowd_share_gap", "front_share_gap", "single_gender_share")
    ),
}  # fmt: skip
"""Audit -> metrics and subjects of its rows."""
PLAIN = ("leaning_p_value", "settled_step")
"""Metrics without an interval."""
DIMS = ("detector", "label", "arms", "variant", "word", "says", "space", "towards", "group",
        "variants", "other")  # fmt: skip
FACTS = ("name", "said_most_often", "added", "example", "text", "spaces", "detector", "finder",
         "expected", "concept", "source", "prompt", "encoder")  # fmt: skip
COUNTS = (
    "labels", "left_out", "annotators", "clear_images", "images", "told", "drawn", "labelled",
    "rewritten_share", "feminine", "prompts", "people", "gender", "triplets", "judged",
    "not_judged", "rare", "least", "different", "neutral", "masculine", "clear", "present",
)  # fmt: skip


def _dims(metric: str, say: Callable[[str], str]) -> dict[str, Any]:
    """What tells rows of a metric apart: a crossed prompt has two axes."""
    if metric == "share_of_men":
        return {name: say(name) for name in ("profession", "nationality")}
    plain = {"direction": "text", "centred": False, "step": 1}
    return {name: say(name) for name in DIMS} | plain


def _part(audit: Any, say: Callable[[str], str]) -> AuditRecord:
    """What an audit keeps of a run."""
    numbers = {
        "paper": 0.5, "fair_model": 0.1, "by_detector": 0.5, "by_people": 0.5,
        "to_feminine": 0.5, "to_masculine": 0.5, "p_value": 0.04, "margin": 0.1,
        "direction": "under", "guidance": True, "noise": 0.5,
    }  # fmt: skip
    if audit.name == "stereotypes":
        numbers["expected"] = 0.3
    return AuditRecord(rows=tuple(
        Row(
            metric, say("subject"), about,
            0.04 if metric in PLAIN else Interval(0.4, 0.2, 0.6, 0.95, say("method"), 8),
            _dims(metric, say),
            {name: say(name) for name in FACTS} | numbers, dict.fromkeys(COUNTS, 2), say("absent"),
        )
        for metric, about in ROWS[audit.name]
    ))  # fmt: skip


def filled_run(say: Callable[[str], str] = str) -> RunRecord:
    """A record of a run with something in every field, those of every audit's part too."""
    parts = {audit.name: _part(audit, say) for audit in installed_audits() if audit.name in ROWS}
    names = {row.metric for part in parts.values() for row in part.rows} & set(INFO)
    metrics = {name: MetricRecord.of(INFO[name]) for name in sorted(names)}
    return replace(filled(RunRecord, say), audits=parts, metrics=metrics)


def _value(name: str, kind: Any, say: Callable[[str], str]) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _value(name, inner[0], say)
    if origin in (Union, types.UnionType):
        return _value(name, inner[0], say)
    if origin is Literal:
        return inner[-1]
    if origin is tuple:
        parts = inner[:1] * 2 if inner[-1] is Ellipsis else inner
        return tuple(_value(name, part, say) for part in parts)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {_value("key", inner[0], say): _value(name, inner[1], say)}
    is_list = isinstance(origin, type) and issubclass(origin, Sequence)
    return [_value(name, inner[0], say)] if is_list else _plain(name, kind, say)


def _plain(name: str, kind: Any, say: Callable[[str], str]) -> Any:
    if kind is Any:
        return say(name)
    if is_dataclass(kind):
        return filled(kind, say)
    if issubclass(kind, Enum):
        return next(iter(kind))
    return {str: lambda: say(name), bool: lambda: True, int: lambda: 2, float: lambda: 0.5}[kind]()


def audits_filled(say: Callable[[str], str]) -> dict[str, AuditRecord]:
    """What every built-in audit keeps of a run."""
    return {
        audit.name: _part(audit, say)
        for audit in installed_audits()
        if audit.name in ROWS and type(audit).__module__.startswith("pytest_t2i.")
    }


def texts(value: Any) -> Iterator[str]:
    """Every text in a record, keys of tables too."""
    if isinstance(value, str) and not isinstance(value, Enum):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from texts(getattr(value, each.name))
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for part in pair for text in texts(part))
    elif isinstance(value, list | tuple):
        yield from (text for part in value for text in texts(part))
