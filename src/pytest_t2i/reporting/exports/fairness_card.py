"""The Fairness Card of a run: what was tested, how, by whom, and what the run does not show.

Fields follow Vladimirova, Franceschi and Issenhuth (Fairness Failure in Generative Models is an
Evaluation Problem, ICML 2026).
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.support.escaping import clean
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import write_whole
from pytest_t2i.reporting import run_facts
from pytest_t2i.reporting.allowed import allowed_drawn
from pytest_t2i.reporting.exports.limits_of_a_run import limitations, not_measured, scope
from pytest_t2i.reporting.formatting import detector_names, undetected_of
from pytest_t2i.reporting.html import rendered
from pytest_t2i.runs.machine_paths import portable
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.statement import Statement
from pytest_t2i.runs.summaries import headlines, summaries

VERSION = "0.2.0"
EXAMPLES = 3
"""Number of quoted prompts per axis."""


def write_fairness_card(record: RunRecord, folder: Path, authors: tuple[str, ...]) -> None:
    """Write fairness-card.json and fairness-card.html into a folder, each file atomically.

    Raises ConfigurationError for a run without a model.
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
    """Return the card as plain values."""
    record = portable(record)
    model = record.provenance.get("model", {})
    stated = record.statement
    return {
        "card_version": VERSION,
        "tool": {"name": run_facts.TOOL, "version": run_facts.tool_version(record)},
        "commit": run_facts.commit(record),
        "statement": asdict(stated),
        "modality": "image",
        "evaluation_date": record.created[:10],
        "authors": [{"name": name} for name in authors or (stated.auditor,) if name],
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
            "access_harms": ["Refused and black images are counted, never dropped silently."],
            "excluded": limitations(record),
            "not_tested": not_measured(record),
        },
        "protected_attributes": _attributes(record),
        "detectors": _detectors(record),
        "labels": run_facts.label_status(record),
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
    """Return the numbers of images and the seeds; the seeds of ready-made images are unknown."""
    if record.done.is_ready_made:
        most = max((len(prompt.images) for prompt in record.prompts), default=0)
        return {
            "images_per_prompt": most,
            "seed": None,
            "seed_policy": "pictures were made elsewhere; their seeds are unknown",
            "generation": {},
        }
    return {
        "images_per_prompt": record.settings.get("images"),
        "seed": record.settings.get("seed"),
        "seed_policy": "one stream of seeds for each prompt, derived from the run's seed",
        "generation": record.provenance.get("generation", {}),
    }


def _limits(record: RunRecord) -> list[dict[str, Any]]:
    """Return every bound with its author, its reason and its numbers of checks by outcome."""
    counts: dict[tuple[Any, ...], Counter[str]] = {}
    for check in record.checks:
        of = "model" if check.is_of_model else "each prompt or stereotype"
        stated = (check.author, check.reason, check.has_limit and not check.reason)
        counts.setdefault((check.metric, of, allowed_drawn(check), *stated), Counter())[
            str(check.outcome)
        ] += 1
    names = ("metric", "of", "allowed", "author", "reason", "lacks_reason")
    return [
        dict(zip(names, key, strict=True)) | {"checks": dict(tally)}
        for key, tally in counts.items()
    ]


def _detectors(record: RunRecord) -> list[dict[str, Any]]:
    """Return the detectors with accuracy and fingerprint; the first one decides."""
    fingerprints = record.provenance.get("detectors", {})
    return [
        {
            "name": name,
            "decides": not number,
            "accuracy": run_facts.how_known(record, name),
            "fingerprint": fingerprints.get(name, ""),
        }
        for number, name in enumerate(detector_names(record))
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
        {
            "family": axis,
            "variant": variant,
            "prompts": len(texts),
            "examples": texts[:EXAMPLES],
            "texts": texts,
        }
        for (axis, variant), texts in families.items()
    ]


def _refusals(record: RunRecord) -> dict[str, Any]:
    return {
        "handling": "an image without a label counts as no group; verdicts that depend on such "
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
        | ({"estimate": None} if value.interval is None else asdict(value.interval))
        for summary in summaries(record)
        for value in summary.all_values
    ]


def render_html(card: dict[str, Any]) -> str:
    """Return the card as a page."""
    return rendered("fairness_card.html.j2", shown(card))


def shown(card: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the card's templates."""
    scope, system = card["fairness_scope"], card["system"]
    again = {
        "measured by": " ".join(card["tool"].values()).strip(),
        "commit of the project": card["commit"],
        **{f"model: {name}": str(value) for name, value in system.items()},
    }
    stated = Statement(**card["statement"]).rows()
    return {
        "card": card,
        "stated": stated,
        "is_on_paper": False,
        "beyond": [each for each in scope["excluded"] if each not in scope["not_tested"]],
        "again": [(name, value or "not known") for name, value in again.items()],
    }
