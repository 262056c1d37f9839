"""The Hugging Face model card of a run: results as the hub's metadata, limitations in words."""

from __future__ import annotations

from pathlib import Path

from pytest_t2i.adapters.support.escaping import clean, escape
from pytest_t2i.data import Interval
from pytest_t2i.errors import ConfigurationError, FileFormatError, MissingExtraError
from pytest_t2i.files import read_text, write_whole
from pytest_t2i.reporting.allowed import allowed_words, unreasoned
from pytest_t2i.reporting.exports.limits_of_a_run import limitations, scope
from pytest_t2i.reporting.formatting import interval_text, metric_words
from pytest_t2i.reporting.markdown_sections import table_lines
from pytest_t2i.reporting.verdict_section import headline
from pytest_t2i.runs.machine_paths import portable
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.summaries import series_of_audits

BEGIN, END = "<!-- pytest-t2i -->", "<!-- pytest-t2i end -->"
"""Marks around our section of a card, by which the next run replaces it."""
TASK = "text-to-image"
SETS = {"": "all", "model": "all"}
"""Name of a set of prompts in a series -> its name on a card, where they differ."""


def write_model_card(record: RunRecord, file: Path) -> None:
    """Write a new card, or update the metadata and our section of an existing one.

    Raises:
        ConfigurationError: the run has no measured score.
        FileFormatError: the metadata of the existing card cannot be read.
        MissingExtraError: huggingface_hub is not installed.
    """
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
        made = ModelCard(body if body.lstrip().startswith("---") else f"---\n{{}}\n---\n{body}")
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
    others = [r for r in made.data.eval_results or [] if r.dataset_type != "pytest-t2i"]
    made.data.model_name = made.data.model_name or clean(record.model)
    made.data.eval_results = [*others, *results]
    return str(made)


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
        (
            escape(f"{metric_words(check.metric)} of {check.subject}"),
            interval_text(check.interval),
            escape(allowed_words(check) + unreasoned(check)),
            check.outcome,
        )
        for check in record.checks
        if check.is_of_model and check.against == "limit"
    ]
    return table_lines(("judged", "value", "limit", "verdict"), rows, len(rows))


def _values(record: RunRecord) -> list[tuple[str, str, Interval]]:
    followed = ((name.partition("/"), one) for name, one in series_of_audits(record).items())
    return [(metric, SETS.get(name, name), one) for (metric, _, name), one in followed]
