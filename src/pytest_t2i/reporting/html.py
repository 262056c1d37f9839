"""The page of a run: one self-contained HTML file that fetches nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from pytest_t2i.data import Outcome
from pytest_t2i.files import write_whole
from pytest_t2i.reporting import (
    baseline,
    charts,
    first_screen,
    formatting,
    html_blocks,
    pictures,
    run_facts,
    verdict_section,
)
from pytest_t2i.reporting.charts import ChartRow, bias_groups
from pytest_t2i.reporting.formatting import (
    OUTCOMES,
    counted_beside,
    excess_of,
    outcome_counts,
    several,
    tells_others,
)
from pytest_t2i.reporting.hint import hint
from pytest_t2i.reporting.html_blocks import drawn
from pytest_t2i.reporting.page import content_policy, environment, own_source
from pytest_t2i.reporting.pictures import Grid, Picture, PictureAlbum
from pytest_t2i.runs.record.picture_paths import portable
from pytest_t2i.runs.record.record import PromptRecord, RunRecord
from pytest_t2i.runs.record.sections_files import SectionsFile
from pytest_t2i.sections import Section
from pytest_t2i.sections.words import p_words
from pytest_t2i.verdicts.check import Check


def render_html(
    record: RunRecord,
    folder: Path,
    beside: Sequence[SectionsFile] = (),
) -> str:
    """Return the run as a page; links to full pictures are relative to ``folder``."""
    contents = contents_of_page(record, folder)
    contents["why"] = hint(record, beside)
    sections = drawn([section for file in beside for section in file.shown()], folder)
    contents["audit_sections"] = [*sections, *contents["audit_sections"]]
    return rendered("report.html.j2", contents, PICTURES)


def contents_of_page(record: RunRecord, folder: Path) -> dict[str, Any]:
    """Return the variables of the templates of a run's page, without style, script and policy."""
    record = portable(record)
    listed, ordered = _listed_metric(record), _by_urgency(record)
    ids = [prompt.id for prompt, *_ in ordered] or [prompt.id for prompt in record.prompts]
    albums = pictures.albums(record, folder, set(ids[:MOST_GRIDS]))
    rows = _prompt_rows(ordered, albums)
    urgent = (row for row in rows[:OPEN_ROWS] if row.chart.outcome in URGENT)
    open_rows = sum(1 for _ in urgent)
    groups = {outcome: verdict_section.check_groups(record, outcome) for outcome in record.tally()}
    return {
        "record": record,
        "stated": record.statement.rows(),
        "tally": record.tally(),
        "Outcome": Outcome,
        "outcomes": OUTCOMES,
        "headline": verdict_section.headline(record),
        "title": first_screen.title_of(record),
        "plainest": first_screen.plainest(record),
        "strips": first_screen.strips(record, albums),
        "why": hint(record),
        "sides": formatting.side_counts(record.checks),
        "facts": [*run_facts.facts(record), *run_facts.work_table(record)],
        "figures": list(first_screen.figures(record)),
        "baseline": drawn(baseline.baseline_sections(record), folder, folded=not _is_worse(record)),
        "groups": {
            outcome: [group for group in found if not group.is_listed_by(listed)]
            for outcome, found in groups.items()
        },
        "anchors": {prompt.id: formatting.anchor(prompt.id) for prompt in record.prompts},
        "notes": verdict_section.subject_notes(record),
        "otherwise": [
            (name, record.failed_because.get(name, "")) for name in record.failed_otherwise
        ],
        "rows": rows,
        "rows_by_anchor": {row.chart.anchor: row for row in rows},
        "open_rows": open_rows,
        "more_rows": _more_rows(rows[open_rows:], is_all=not open_rows),
        "shown_pictures": _shown_pictures(albums),
        "whole_rows": MOST_GRIDS,
        "leanings": charts.leanings(record.prompts),
        "audit_sections": html_blocks.drawn(record.sections, folder, folded=True),
        "albums": albums,
        "provenance": run_facts.facts_table(record.provenance),
    }


MOST_GRIDS = 200
"""Largest number of prompts whose pictures and evidence are shown; the others are plain rows, so
that a page of 5,000 prompts stays below 8 MB."""
OPEN_ROWS = 12
"""Largest number of failed or open prompts that are listed at once; the others are folded."""
URGENT = (Outcome.FAIL, Outcome.INCONCLUSIVE)
WITH_PICTURES = 120
"""Number of prompts with pictures in the list; more would make the page heavy."""
PICTURES_OF_ROW = 3
"""Largest number of pictures of a prompt in the list."""
URGENCY = {Outcome.FAIL: 0, Outcome.INCONCLUSIVE: 1, Outcome.PASS: 2, None: 3}
"""Order of the prompts by outcome."""


@dataclass(frozen=True, slots=True)
class PromptRow:
    """One prompt of the list."""

    chart: ChartRow
    axis: str
    counts: str
    checks: tuple[Check, ...]
    pictures: tuple[Picture, ...]

    @property
    def words(self) -> str:
        """What a reader may look for: the name, the axis and the text of the prompt."""
        return f"{self.chart.name} {self.axis} {self.chart.note}".lower()


def _listed_metric(record: RunRecord) -> str:
    """Return the metric whose checks of prompts stand in the list; "" where there is no list."""
    lead = record.lead
    return "" if lead is None or tells_others(record) else record.of_prompt(lead.metric)


def _more_rows(rows: Sequence[PromptRow], *, is_all: bool) -> str:
    """Return what the folded part of the list holds: ``and 9 more: 2 inconclusive, 7 passed``."""
    outcomes = [row.chart.outcome for row in rows]
    counts = outcome_counts(outcomes)
    count = several(len(rows), "prompt") if is_all else f"and {len(rows)} more"
    return f"{count}: {', '.join(counts)}" if counts else count


def _shown_pictures(albums: Sequence[PictureAlbum]) -> str:
    """Return how many pictures of how many prompts the page shows."""
    grids = [grid for album in albums for grid in album.grids]
    pictures = sum(len(grid.pictures) for grid in grids)
    return f"{several(pictures, 'picture')} of {several(len(grids), 'prompt')}"


def _is_worse(record: RunRecord) -> bool:
    """Whether a comparison with a baseline or an anchor failed or is open."""
    return any(check.is_change and check.outcome in URGENT for check in record.checks)


Judged = tuple[PromptRecord, str, ChartRow, tuple[Check, ...]]
"""A prompt, the name of its axis, its row in the chart and its checks."""


def _by_urgency(record: RunRecord) -> list[Judged]:
    """Return the prompts of a run, worst first; [] where the labels are not gender."""
    checks = record.checks_of(_listed_metric(record))
    prompts = {prompt.id: prompt for prompt in record.prompts}
    rows = [
        (prompts[chart.id], group.name, chart, tuple(checks.get(chart.id, ())))
        for group in bias_groups(record)
        for chart in group.rows
    ]
    return sorted(rows, key=_urgency)


def _prompt_rows(ordered: Sequence[Judged], albums: Sequence[PictureAlbum]) -> list[PromptRow]:
    """Return the rows of the list of prompts."""
    grids = {grid.anchor: grid for album in albums for grid in album.grids}
    return [
        PromptRow(chart, axis, _counts(prompt), judged, _pictures(grids, chart, place))
        for place, (prompt, axis, chart, judged) in enumerate(ordered)
    ]


def _urgency(row: Judged) -> tuple[int, float, float, str]:
    prompt, _, chart, checks = row
    excess = max((excess_of(check) for check in checks), default=0.0)
    score = abs(prompt.score.estimate) if prompt.score else 0.0
    return (URGENCY[chart.outcome], -excess, -score, prompt.id)


def _counts(prompt: PromptRecord) -> str:
    return counted_beside(prompt) if prompt.counts else ""


def _pictures(grids: Mapping[str, Grid], chart: ChartRow, place: int) -> tuple[Picture, ...]:
    grid = grids.get(chart.anchor)
    return grid.pictures[:PICTURES_OF_ROW] if grid is not None and place < WITH_PICTURES else ()


PICTURES = "img-src data:"
"""Rule of the content policy that allows the pictures within a page."""


def rendered(template: str, contents: Mapping[str, Any], *allowed: str) -> str:
    """Render a page with the common style and script; ``allowed`` adds rules to its policy."""
    library = page_environment()
    style, script = (own_source(library, name) for name in ("style.css", "script.js"))
    policy = content_policy(style, script, *allowed)
    return library.get_template(template).render(
        {"is_on_paper": False, **contents}, style=style, script=script, policy=policy
    )


@cache
def page_environment() -> Environment:
    """Return the environment with the templates and filters of all pages."""
    library = environment("pytest_t2i.reporting")
    library.filters |= {
        "signed": formatting.signed,
        "plain": formatting.plain,
        "p_value": p_words,
        "sentence": formatting.sentence,
        "step": formatting.step,
        "interval": formatting.interval_words,
        "outcome": str.lower,
        "bounds": formatting.bounds_words,
        "share": formatting.percent,
        "commands": formatting.with_commands,
        "side": formatting.side_of,
        "allowed": formatting.allowed_drawn,
        "function": formatting.function_of,
    }
    return library


def write_page(
    folder: str | Path, title: str, sections: Sequence[Section], *, lead: str = "", kicker: str = ""
) -> Path:
    """Write sections as a self-contained ``index.html`` in the style of the report.

    Args:
        folder: folder of the page; links to pictures are relative to it.
        title: headline of the page.
        sections: sections in their order on the page.
        lead: a sentence below the headline.
        kicker: a few words above the headline.

    Returns:
        The path of the page, which is written atomically.

    >>> import tempfile
    >>> from pytest_t2i import sections
    >>> shown = sections.Section("Cost", (sections.Paragraph("Seven passes a picture."),))
    >>> page = write_page(tempfile.mkdtemp(), "A mitigation", [shown])
    >>> "Seven passes" in page.read_text()
    True
    """
    folder = Path(folder)
    page = folder / "index.html"
    words = {"title": title, "lead": lead, "kicker": kicker}
    text = rendered("page.html.j2", words | {"audit_sections": drawn(sections, folder)}, PICTURES)
    write_whole(page, text.encode())
    return page
