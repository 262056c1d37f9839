"""Cards for publication: the Fairness Card in a PDF, and a model card's section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import Interval, Outcome, Row
from pytest_t2i.errors import ConfigurationError, FileFormatError, MissingExtraError
from pytest_t2i.files import write_whole
from pytest_t2i.read_files import read_text
from pytest_t2i.reporting import run_facts
from pytest_t2i.reporting.formatting import (
    allowed_drawn,
    detector_names,
    image_total,
    interval_text,
    metric_words,
    undetected_counts,
)
from pytest_t2i.reporting.markdown import judged_cells, table_lines
from pytest_t2i.reporting.verdict_section import headline
from pytest_t2i.runs.record.picture_paths import portable
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.runs.record.summaries import headlines
from pytest_t2i.sections.escaping import clean, escape


def limitations(record: RunRecord) -> list[str]:
    """List sentences on what this run does not show."""
    return list(_limitations(record))


def _limitations(record: RunRecord) -> Iterator[str]:
    yield "The scores are about these prompts alone; other words may give other scores."
    detectors = detector_names(record)
    if detectors:
        yield (
            f"Gender is the label that the detector {detectors[0]} gives a picture, male or "
            "female: neither a person's gender nor all genders."
        )
        undetected = undetected_counts(record, detectors[0])
        share = sum(undetected.values()) / max(1, image_total(record))
        if share:
            yield f"{share:.1%} of the images have no label; they count as neither gender."
    yield from (sentence for audit in _measured(record) for sentence in audit.limitations)
    if detectors and not run_facts.corrections(record):
        yield "The detector's mistakes are not corrected by people's labels."
    tally = record.tally()
    if tally[Outcome.INCONCLUSIVE]:
        open_ones = tally[Outcome.INCONCLUSIVE]
        are = "check is" if open_ones == 1 else "checks are"
        yield f"{open_ones} {are} inconclusive: too few images, or no evidence."
    yield from _not_measured(record)
    yield "A PASS says that bias within the limit was shown, not that there is none."


def _not_measured(record: RunRecord) -> list[str]:
    """List sentences on what could have been tested and was not."""
    return [
        audit.unmeasured
        for audit in installed_audits()
        if audit.unmeasured and not record.part(audit.name).rows
    ]


def scope(record: RunRecord) -> list[str]:
    """List sentences on what was measured."""
    return [audit.scope for audit in _measured(record) if audit.scope]


def _measured(record: RunRecord) -> list[Audit]:
    """Return the installed audits with rows in this run."""
    return [audit for audit in installed_audits() if record.part(audit.name).rows]


def card_contents(record: RunRecord) -> dict[str, Any]:
    """Return the variables of the template of the Fairness Card."""
    record = portable(record)
    not_tested = _not_measured(record)
    contents: dict[str, Any] = clean(
        {
            "harms": scope(record),
            "not_shown": [line for line in limitations(record) if line not in not_tested],
            "not_tested": not_tested,
            "limits": _limits(record),
            "detectors": _detectors(record),
            "labels": run_facts.label_status(record),
            "groups": _groups(record),
            "sampling": _sampling(record),
            "prompts": _prompts(record),
            "headlines": headlines(record),
            "metrics": _metrics(record),
            "command": record.provenance.get("command", ""),
        }
    )
    return contents


def _sampling(record: RunRecord) -> str:
    """Return the numbers of images and the seeds in words."""
    if record.done.is_ready_made:
        most = max((len(prompt.images) for prompt in record.prompts), default=0)
        return (
            f"at most {most} images per prompt; pictures were made elsewhere; their seeds are "
            "unknown"
        )
    images, seed = (record.settings.get(name) for name in ("images", "seed"))
    return (
        f"{images} images per prompt, seed {seed}; one stream of seeds for each prompt, derived "
        "from the run's seed"
    )


def _limits(record: RunRecord) -> list[dict[str, Any]]:
    """Return every bound with its author, its reason and its numbers of checks by outcome."""
    counts: dict[tuple[Any, ...], Counter[str]] = {}
    for check in record.checks:
        subject = "model" if check.is_of_model else "each prompt or stereotype"
        grounds = (check.author, check.reason, check.has_limit and not check.reason)
        counts.setdefault((check.metric, subject, allowed_drawn(check), *grounds), Counter())[
            str(check.outcome)
        ] += 1
    names = ("metric", "of", "allowed", "author", "reason", "lacks_reason")
    return [
        dict(zip(names, key, strict=True)) | {"checks": dict(tally)}
        for key, tally in counts.items()
    ]


def _detectors(record: RunRecord) -> list[dict[str, Any]]:
    """Return the detectors with accuracy; the first one decides."""
    return [
        {
            "name": name,
            "decides": not number,
            "accuracy": run_facts.how_known(record, name),
        }
        for number, name in enumerate(detector_names(record))
    ]


def _groups(record: RunRecord) -> list[str]:
    """Return every label that a detector gave."""
    counts = (counts for prompt in record.prompts for counts in prompt.counts.values())
    return sorted({label for each in counts for label in each.labels})


def _prompts(record: RunRecord) -> list[dict[str, Any]]:
    families: dict[tuple[str, str], list[str]] = {}
    for prompt in record.prompts:
        families.setdefault((prompt.axis, prompt.variant), []).append(prompt.text)
    return [
        {"family": axis, "variant": variant, "texts": texts}
        for (axis, variant), texts in families.items()
    ]


def _metrics(record: RunRecord) -> list[dict[str, Any]]:
    return [
        {"metric": row.metric, "set": _set(record, row), "detector": _detector(row)}
        | ({"estimate": None} if row.interval is None else asdict(row.interval))
        for row in _compared(record)
    ]


def _compared(record: RunRecord) -> list[Row]:
    """Return the values of the model and of its parts, of all audits."""
    return [row for audit in record.in_order for row in Rows(audit.rows).compared]


def _detector(row: Row) -> str:
    return str(row.dims.get("detector") or row.facts.get("detector", ""))


def _set(record: RunRecord, row: Row) -> str:
    """Return the name of what a value is about: a set of prompts, or "all" of them."""
    by = str(row.dims.get("detector", ""))
    name = row.series.partition("/")[2]
    if by in detector_names(record)[:1]:
        name = name.removesuffix(by).strip() or row.subject
    return SETS.get(name, name)


BEGIN, END = "<!-- pytest-t2i -->", "<!-- pytest-t2i end -->"
"""Marks around our section of a card, by which the next run replaces it."""
TASK = "text-to-image"
SETS = {"model": "all"}
"""Name of a set of prompts -> its name on a card, where they differ."""


def write_model_card(record: RunRecord, file: Path) -> None:
    """Write a new card, or update the metadata and our section of an existing one."""
    if not _values(record):
        raise ConfigurationError("a model card needs a measured score; this run has none")
    write_whole(file, model_card(record, read_text(file) if file.exists() else "", file).encode())


def model_card(record: RunRecord, card: str, file: Path) -> str:
    """Return the text of a card, "" for a new one, updated with this run."""
    try:
        from huggingface_hub import EvalResult, ModelCard
    except ImportError:
        raise MissingExtraError("a model card", "fetch", "huggingface_hub") from None
    body = _with_section(card or f"# {escape(record.model)}\n", section(record))
    try:
        hub_card = ModelCard(body if body.lstrip().startswith("---") else f"---\n{{}}\n---\n{body}")
    except ValueError as error:
        raise FileFormatError(file, f"its metadata cannot be read: {error}") from None
    results = [
        EvalResult(
            task_type=TASK,
            dataset_type="pytest-t2i",
            dataset_name=f"pytest-t2i prompts ({clean(name)})",
            # The hub merges results of the same type, configuration and split into one entry.
            dataset_config=clean(name),
            metric_type=metric,
            metric_name=metric.replace("_", " "),
            metric_value=round(value.estimate, 4),
            metric_args={"low": round(value.low, 4), "high": round(value.high, 4), "n": value.n},
        )
        for metric, name, value in _values(record)
    ]
    other_results = [r for r in hub_card.data.eval_results or [] if r.dataset_type != "pytest-t2i"]
    hub_card.data.model_name = hub_card.data.model_name or clean(record.model)
    hub_card.data.eval_results = [*other_results, *results]
    return str(hub_card)


def _with_section(card: str, text: str) -> str:
    """Return the card with our section replaced, or added at its end."""
    ours = f"{BEGIN}\n{text}\n{END}"
    if BEGIN in card and END in card:
        before, rest = card.split(BEGIN, 1)
        return f"{before}{ours}{rest.split(END, 1)[1]}"
    return f"{card.rstrip()}\n\n{ours}\n"


def section(record: RunRecord) -> str:
    """Return our section of the card in Markdown."""
    record = portable(record)
    lines = [f"## Fairness: {record.outcome}", "", escape(headline(record)), ""]
    lines += [*(f"- {escape(part)}" for part in scope(record)), "", *_judged(record)]
    values = [
        (escape(metric_words(metric)), escape(name), interval_text(value))
        for metric, name, value in _values(record)
    ]
    lines += table_lines(("metric", "prompts", "value"), values, len(values))
    lines += ["### What this does not show", ""]
    lines += [f"- {escape(sentence)}" for sentence in limitations(record)]
    day, images = record.created[:10], record.settings.get("images")
    lines += ["", f"Measured on {day} with pytest-t2i, {images} images per prompt."]
    return "\n".join(lines)


def _judged(record: RunRecord) -> list[str]:
    """Return the table of the model's checks against limits; [] without such checks."""
    rows = [
        (*judged_cells(check), check.outcome)
        for check in record.checks
        if check.is_of_model and check.against == "limit"
    ]
    return table_lines(("judged", "value", "limit", "verdict"), rows, len(rows))


def _values(record: RunRecord) -> list[tuple[str, str, Interval]]:
    return [
        (row.metric, _set(record, row), row.interval)
        for row in _compared(record)
        if row.interval is not None
    ]
