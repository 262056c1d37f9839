"""The result of a hunt as plain values, for hunt.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pytest_t2i.prompts import combination

from pytest_t2i_hunt.search.confirming import Confirmed
from pytest_t2i_hunt.search.counts import Parts
from pytest_t2i_hunt.search.hunt import HuntResult
from pytest_t2i_hunt.search.plan import Plan

SCHEMA = "pytest-t2i/hunt/1"


def as_json(result: HuntResult, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a hunt as plain values; ``facts`` add model, detector and so on."""
    plan = result.plan
    return {
        "schema": SCHEMA,
        **facts,
        "axes": {axis.name: list(axis.concepts) for axis in plan.axes},
        "words": plan.most_words,
        "beyond": plan.beyond,
        "confidence": plan.confidence,
        "seed": plan.seed,
        "budget": plan.budget,
        "images": result.images,
        "undetected": result.undetected,
        "combinations": plan.combinations,
        "looked_at": result.looked_at,
        "full_grid": plan.full_grid,
        "left_open": result.left_open,
        "groups": list(plan.groups),
        "findings": [_finding(finding, plan) for finding in result.findings],
    }


def _finding(finding: Confirmed, plan: Plan) -> dict[str, Any]:
    return {
        "words": _words(finding.parts),
        "prompt": combination(finding.parts).text,
        "towards": plan.direction(finding.sign),
        "confirmed": finding.confirmed,
        "why_not": finding.why_not,
        "p_value": finding.p_value,
        "search": finding.search.plain(),
        "held_out": finding.held_out.plain(),
        "interval": asdict(finding.interval) if finding.interval else None,
        "parts": [{"words": _words(parts), **counts.plain()} for parts, counts in finding.of_parts],
    }


def _words(parts: Parts) -> list[dict[str, str]]:
    return [{"axis": part.axis.name, "concept": part.concept} for part in parts]
