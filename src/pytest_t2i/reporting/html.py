"""One self-contained page: styles, script and pictures are inside, nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pytest_t2i.data import Outcome
from pytest_t2i.reporting import charts, checks, pictures, sections, trials, words
from pytest_t2i.runs.record import RunRecord


def render_html(record: RunRecord, folder: Path) -> str:
    """The run as a page; links to full pictures are relative to ``folder``."""
    environment = _environment()
    style, script = (_source(environment, name) for name in ("style.css", "script.js"))
    return environment.get_template("report.html.j2").render(
        record=record,
        tally=record.tally(),
        Outcome=Outcome,
        style=style,
        script=script,
        policy=_policy(style, script),
        headline=checks.headline(record),
        facts=sections.facts(record),
        figures=list(sections.figures(record)),
        groups={outcome: checks.check_groups(record, outcome) for outcome in record.tally()},
        anchors={prompt.id: words.anchor(prompt.id) for prompt in record.prompts},
        notes=checks.subject_notes(record),
        axes=charts.side_by_side(charts.bias_groups(record)),
        scores=sections.score_rows(record),
        stereotypes=charts.side_by_side(charts.stereotype_groups(record)),
        gaps=charts.side_by_side(charts.gap_groups(record)),
        group_rows=sections.group_rows,
        cells=sections.cell_tables(record),
        correction=sections.correction(record),
        trials=trials.trial_rows(record),
        trial_columns=trials.COLUMNS,
        trial_note=trials.trial_note(record),
        mistakes=trials.mistakes(record, folder),
        albums=pictures.albums(record, folder),
        undetected=sections.undetected_table(record),
        work=sections.work_table(record),
        provenance=sections.flattened(record.provenance),
        settings=sections.flattened(record.settings),
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pytest_t2i.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "signed": words.signed,
        "plain": words.plain,
        "interval": words.interval_words,
        "outcome": str.lower,
        "bounds": words.bounds_words,
        "share": words.percent,
        "leaning": words.leaning,
    }
    return environment


def _source(environment: Environment, name: str) -> Markup:
    """Our own style or script, which is not to be escaped."""
    assert environment.loader is not None  # noqa: S101 - set above
    return Markup(environment.loader.get_source(environment, name)[0])  # noqa: S704 - our own file


def _policy(style: str, script: str) -> str:
    """A content security policy: only our own style and script, only embedded pictures."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
