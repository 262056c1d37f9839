"""A Fairness Card: what was tested, how, by whom, and what it does not show.

Fields follow Vladimirova, Franceschi and Issenhuth (Fairness Failure in Generative Models is an
Evaluation Problem, ICML 2026).
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.support.escaping import clean
from pytest_t2i.adapters.support.html import content_policy, own_source
from pytest_t2i.data import Interval
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import write_whole
from pytest_t2i.reporting.exports.limits_of_a_run import limitations, scope
from pytest_t2i.reporting.formatting import allowed_drawn, detector_names, undetected_of
from pytest_t2i.reporting.html import templates
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.summaries import headlines, summaries

VERSION = "0.1.0"
EXAMPLES = 3
"""Prompts of an axis that are quoted."""


def write_fairness_card(record: RunRecord, folder: Path, authors: tuple[str, ...]) -> None:
    """Write fairness-card.json and fairness-card.html into a folder, each file whole.

    Raises ConfigurationError for a run without a model: such a card is about one.
    """
    if not record.model:
        raise ConfigurationError(
            "a fairness card is about a model; this run tried detectors on labelled images"
        )
    card = clean(fairness_card(record, authors))
    text = json.dumps(card, indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(folder / "fairness-card.json", text.encode())
    write_whole(folder / "fairness-card.html", render_html(card).encode())


def fairness_card(record: RunRecord, authors: tuple[str, ...]) -> dict[str, Any]:
    """The card as plain values."""
    model = record.provenance.get("model", {})
    return {
        "card_version": VERSION,
        "modality": "image",
        "evaluation_date": record.created[:10],
        "authors": [{"name": name} for name in authors],
        "system": {"name": record.model, "surface": "base-model"} | dict(model),
        "intended_use": {
            "in_scope": ["Whether this model, as it is, keeps the limits stated below."],
            "out_of_scope": [
                "Other words, languages, settings or versions than those named.",
                "Whether a use of the model is fair.",
            ],
        },
        "fairness_scope": {
            "representational_harms": scope(record),
            "access_harms": ["Refused and black images are counted, never dropped in silence."],
            "excluded": limitations(record),
        },
        "protected_attributes": _attributes(record),
        "prompt_suite": _prompts(record),
        "sampling": _sampling(record),
        "refusals": _refusals(record),
        "metrics": _metrics(record),
        "audits": headlines(record),
        "verdict": {
            "outcome": str(record.outcome),
            "level": record.settings.get("confidence"),
            "checks": {str(outcome): count for outcome, count in record.tally().items()},
            "limits": _limits(record),
        },
        "reproduction": {
            "command": record.provenance.get("command", ""),
            "environment": record.provenance.get("environment", {}),
            "detectors": record.provenance.get("detectors", {}),
        },
    }


def _sampling(record: RunRecord) -> dict[str, Any]:
    """How many images of which seeds; ready-made pictures were drawn by somebody else."""
    if record.done.is_ready_made:
        most = max((len(prompt.images) for prompt in record.prompts), default=0)
        return {
            "images_per_prompt": most,
            "seed": None,
            "seed_policy": "pictures were made elsewhere; nothing is known here of their seeds",
            "generation": {},
        }
    return {
        "images_per_prompt": record.settings.get("images"),
        "seed": record.settings.get("seed"),
        "seed_policy": "one stream of seeds for each prompt, derived from the run's seed",
        "generation": record.provenance.get("generation", {}),
    }


def _limits(record: RunRecord) -> list[dict[str, Any]]:
    """What was allowed, why, and how many checks came to what."""
    counts: dict[tuple[str, str, str, str], Counter[str]] = {}
    for check in record.checks:
        of = "model" if check.is_of_model else "each prompt or stereotype"
        key = (check.metric, of, allowed_drawn(check), check.reason)
        counts.setdefault(key, Counter())[str(check.outcome)] += 1
    return [
        {"metric": metric, "of": of, "allowed": allowed, "reason": reason, "checks": dict(tally)}
        for (metric, of, allowed, reason), tally in counts.items()
    ]


def _attributes(record: RunRecord) -> dict[str, Any]:
    labels: dict[str, None] = {}
    for prompt in record.prompts:
        for counts in prompt.counts.values():
            labels |= dict.fromkeys(counts.labels)
    return {
        "slices": sorted(labels),
        "operationalisation": "the label that the deciding detector gives a picture; the prompt "
        "leaves the attribute open",
    }


def _prompts(record: RunRecord) -> list[dict[str, Any]]:
    families: dict[tuple[str, str], list[str]] = {}
    for prompt in record.prompts:
        families.setdefault((prompt.axis, prompt.variant), []).append(prompt.text)
    return [
        {"family": axis, "variant": variant, "prompts": len(texts), "examples": texts[:EXAMPLES]}
        for (axis, variant), texts in families.items()
    ]


def _refusals(record: RunRecord) -> dict[str, Any]:
    return {
        "handling": "an image without a label counts as no group; verdicts that hang on such "
        "images stay open",
        "counts": {
            detector: {
                str(reason): count for reason, count in undetected_of(record, detector).items()
            }
            for detector in detector_names(record)
        },
    }


def _metrics(record: RunRecord) -> list[dict[str, Any]]:
    return [
        {"metric": value.metric, "set": value.name}
        | ({"detector": value.detector} if value.detector else {})
        | _values(value.interval)
        for summary in summaries(record)
        for value in summary.all_values
    ]


def _values(interval: Interval | None) -> dict[str, Any]:
    if interval is None:
        return {"estimate": None}
    names = ("estimate", "low", "high", "level", "method", "n")
    return {name: getattr(interval, name) for name in names}


def render_html(card: dict[str, Any]) -> str:
    """The card as a page."""
    library = templates()
    style = own_source(library, "style.css")
    script = own_source(library, "script.js")
    return library.get_template("fairness_card.html.j2").render(
        card=card, style=style, script=script, policy=content_policy(style, script)
    )
