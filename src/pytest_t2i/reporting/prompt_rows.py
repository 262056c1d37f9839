"""The list of prompts of a page, worst first: bar, counts, verdict, pictures and evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_t2i.data import Outcome
from pytest_t2i.reporting.charts import ChartRow, bias_groups
from pytest_t2i.reporting.formatting import counted_beside, excess_of, tells_others
from pytest_t2i.reporting.pictures import Grid, Picture, PictureAlbum
from pytest_t2i.runs.record import PromptRecord, RunRecord
from pytest_t2i.runs.summaries import first_screens
from pytest_t2i.verdicts.check import Check

OPEN_ROWS = 24
"""Number of prompts that the page lists at once; the others are folded below."""
WITH_PICTURES = 120
"""Number of prompts with pictures in the list; more would make the page heavy."""
SHOWN = 3
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


def listed_metric(record: RunRecord) -> str:
    """Return the metric whose checks of prompts stand in the list; "" where there is no list."""
    screens = first_screens()
    return screens[0].of_prompts[0] if screens and not tells_others(record) else ""


def prompt_rows(record: RunRecord, albums: Sequence[PictureAlbum]) -> list[PromptRow]:
    """Return the prompts of a run, worst first; [] where the labels are not gender."""
    checks = record.checks_of(listed_metric(record))
    prompts = {prompt.id: prompt for prompt in record.prompts}
    grids = {grid.anchor: grid for album in albums for grid in album.grids}
    rows = [
        (prompts[chart.id], group.name, chart, tuple(checks.get(chart.id, ())))
        for group in bias_groups(record)
        for chart in group.rows
    ]
    rows.sort(key=_urgency)
    return [
        PromptRow(chart, axis, _counts(prompt), judged, _pictures(grids, chart, place))
        for place, (prompt, axis, chart, judged) in enumerate(rows)
    ]


def _urgency(
    row: tuple[PromptRecord, str, ChartRow, tuple[Check, ...]],
) -> tuple[int, float, float, str]:
    prompt, _, chart, checks = row
    excess = max((excess_of(check) for check in checks), default=0.0)
    score = abs(prompt.score.estimate) if prompt.score else 0.0
    return (URGENCY[chart.outcome], -(chart.lean or 0.0) - excess, -score, prompt.id)


def _counts(prompt: PromptRecord) -> str:
    return counted_beside(prompt) if prompt.counts else ""


def _pictures(grids: Mapping[str, Grid], chart: ChartRow, place: int) -> tuple[Picture, ...]:
    grid = grids.get(chart.anchor)
    return grid.pictures[:SHOWN] if grid is not None and place < WITH_PICTURES else ()
