"""A Hugging Face model card: evaluation results in the hub's metadata, limitations in words."""

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
"""Around the section in a card, so that the next run replaces it."""
TASK = "text-to-image"
SETS = {"": "all", "model": "all"}
"""What sets of prompts are called on a card."""


def write_model_card(record: RunRecord, file: Path) -> None:
    """Write a card, or bring one that is there up to date: its metadata and our section.

    Raises ConfigurationError for a run without a measured score, FileFormatError for a card whose
    metadata cannot be read, MissingExtraError without huggingface_hub.
    """
    if not _values(record):
        raise ConfigurationError("a model card needs a measured score; this run has none")
    write_whole(file, model_card(record, read_text(file) if file.exists() else "", file).encode())


def model_card(record: RunRecord, card: str, file: Path) -> str:
    """The text of a card with this run in it."""
    try:
        from huggingface_hub import EvalResult, ModelCard
    except ImportError:
        raise MissingExtraError("a model card", "diffusers", "huggingface_hub") from None
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
            # Results of one type, configuration and split become one entry under the first name.
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
    """The card with our section replaced, or added at its end."""
    ours = f"{BEGIN}\n{text}\n{END}"
    if BEGIN in card and END in card:
        before, rest = card.split(BEGIN, 1)
        return f"{before}{ours}{rest.split(END, 1)[1]}"
    return f"{card.rstrip()}\n\n{ours}\n"


def section(record: RunRecord) -> str:
    """The section on fairness in Markdown."""
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
    """What was judged of the model as a whole, with the bounds that were set; nothing without."""
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
