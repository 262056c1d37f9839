"""A hunt as plain values, for hunt.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pytest_t2i.prompts import combination
from pytest_t2i.search.confirming import Confirmed
from pytest_t2i.search.counts import Counts, Parts
from pytest_t2i.search.hunt import Hunted

SCHEMA = "pytest-t2i/hunt/1"


def as_json(hunted: Hunted, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that a hunt came to; ``facts`` say on what it was done."""
    plan = hunted.plan
    return {
        "schema": SCHEMA,
        **facts,
        "axes": {axis.name: list(axis.concepts) for axis in plan.axes},
        "words": plan.most_words,
        "beyond": plan.beyond,
        "confidence": plan.confidence,
        "seed": plan.seed,
        "budget": plan.budget,
        "images": hunted.images,
        "undetected": hunted.undetected,
        "combinations": plan.combinations,
        "looked_at": hunted.looked_at,
        "full_grid": plan.full_grid,
        "left_open": hunted.left_open,
        "findings": [_finding(one) for one in hunted.findings],
    }


def _finding(one: Confirmed) -> dict[str, Any]:
    return {
        "words": _words(one.parts),
        "prompt": combination(one.parts).text,
        "towards": "male" if one.sign > 0 else "female",
        "confirmed": one.confirmed,
        "why_not": one.why_not,
        "p_value": one.p_value,
        "search": _counts(one.search),
        "held_out": _counts(one.held_out),
        "interval": asdict(one.interval) if one.interval else None,
        "parts": [{"words": _words(parts), **_counts(seen)} for parts, seen in one.of_parts],
    }


def _words(parts: Parts) -> list[dict[str, str]]:
    return [{"axis": part.axis.name, "concept": part.concept} for part in parts]


def _counts(counts: Counts) -> dict[str, Any]:
    return {**asdict(counts), "score": counts.score}
