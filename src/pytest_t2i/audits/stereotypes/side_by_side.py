"""The output of ``t2i stereotypes``: tables of several runs, at one level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_t2i.audits.stereotypes.record import StereotypeRecord
from pytest_t2i.audits.stereotypes.tables import (
    Addition,
    Footprint,
    Row,
    additions,
    crossed,
    footprint,
    looked_for,
    table_1,
    words_missing,
)
from pytest_t2i.data import Interval
from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.prompts.internet_users import (
    Footprints,
    check_names,
    of_no_concept,
    read_footprints,
)
from pytest_t2i.sections import Block, Cell, Column, Form, Paragraph, Section, Table

SCORES = "Stereotype scores"
USERS = "Stereotype scores against internet users"
ADDED = "Share of men when a word is added"
BELOW = "Below 0, scores are higher where users are fewer."
PERCENT: Form = "fine percent"


def side_by_side(runs: Sequence[Any], users: Path | None, level: float, seed: int) -> list[Section]:
    """Return a section for each table of OASIS for which the runs have values.

    Args:
        runs: RunRecords, each with a name.
        users: a file of internet users; None takes those of OASIS.
        level: confidence level of every interval.
        seed: seed of the resampling.

    Raises:
        ConfigurationError: the runs have no values for any table, or lack what an interval of this
            level needs.
        FileFormatError: ``users`` is not a file of internet users.
    """
    known = read_footprints(users)
    concepts = list(dict.fromkeys(one.concept for run in runs for one in looked_for(run)))
    if users is not None:
        check_names(users, known, concepts)
    rows = table_1(runs, level)
    added = [addition for run in runs for addition in additions(run, level)]
    missing = [words for run in runs for words in words_missing(run)]
    _check_something(runs, shown=bool(rows or added), missing=missing)
    made = []
    if rows:
        made.append(_scores([run.model for run in runs], rows, level))
        footprints = [footprint(run, known, level, seed) for run in runs]
        strangers = of_no_concept(known, concepts) if users is not None else []
        remarks = (
            *_interval_remarks(footprints, level),
            *_name_remarks(known, concepts, strangers),
        )
        made.append(_footprints(known.source, footprints, remarks, level))
    if added or missing:
        made.append(_additions(added, missing, level))
    return made


def _check_something(runs: Sequence[Any], *, shown: bool, missing: Sequence[str]) -> None:
    if not any(looked_for(run) or crossed(run) for run in runs):
        raise ConfigurationError(
            "none of these runs looked for stereotypes or crossed two axes: run suites/stereotypes"
        )
    if not shown:
        unclear = ("no crossed prompt and word alone have images of one clear man or woman",)
        raise ConfigurationError("nothing to show. " + "\n".join(missing or unclear))


def _heading(title: str, level: float) -> str:
    return f"{title} ({100 * level:g} % intervals)"


def _scores(models: Sequence[str], rows: Sequence[Row], level: float) -> Section:
    pairs = (f"{model}: {what}" for model in models for what in ("share", "score"))
    columns = ("concept", "attribute", "real world", *pairs)
    cells = tuple(
        (row.concept, row.attribute, row.expected, *chain.from_iterable(map(_pair, row.measured)))
        for row in rows
    )
    table = Table(SCORES, columns, cells, form=PERCENT, names=2, whole=True)
    return Section(_heading(SCORES, level), (table,))


def _pair(score: StereotypeRecord | None) -> tuple[Interval | None, Interval | None]:
    if score is None or score.share is None:
        return None, None
    return score.share, score.score


def _footprints(
    source: str, footprints: Sequence[Footprint], remarks: Sequence[str], level: float
) -> Section:
    rows = tuple((one.model, _correlation(one), len(one.means), _means(one)) for one in footprints)
    columns = ("model", "rank correlation", "nationalities", "mean score")
    blocks: tuple[Block, ...] = (
        Paragraph(f"Users: {source}. {BELOW}"),
        Table(USERS, columns, rows, whole=True),
        *map(Paragraph, remarks),
    )
    return Section(_heading(USERS, level), blocks)


def _correlation(shown: Footprint) -> Cell:
    """Return a rank correlation with its interval, or why there is none."""
    if shown.correlation is None or not shown.needed:
        return shown.correlation or shown.absent
    few = f"no interval: {len(shown.means)} nationalities are too few"
    return f"{shown.correlation.estimate:.3f}, {few} ({shown.needed} needed)"


def _means(shown: Footprint) -> str:
    return ", ".join(f"{name} {mean:.3f}" for name, mean in shown.means.items())


def _additions(added: Sequence[Addition], missing: Sequence[str], level: float) -> Section:
    columns = (
        Column("model"), Column("concept"), Column("alone", style=PERCENT), Column("with"),
        Column("together", style=PERCENT), Column("change", style="signed"),
    )  # fmt: skip
    rows = tuple(
        (one.model, one.concept, one.alone, one.added, one.together, _points(one.change))
        for one in added
    )
    table = Table.of(ADDED, columns, rows, digits=1, names=2, whole=True)
    return Section(_heading(ADDED, level), (table, *map(Paragraph, missing)))


def _points(change: Interval) -> Interval:
    """Return the change in percentage points."""
    low, estimate, high = (100 * value for value in (change.low, change.estimate, change.high))
    return replace(change, low=low, estimate=estimate, high=high)


def _interval_remarks(footprints: Sequence[Footprint], level: float) -> Iterator[str]:
    """Yield remarks on the intervals of rank correlations."""
    few = {len(shown.means): shown.needed for shown in footprints if shown.needed}
    for nationalities, needed in sorted(few.items()):
        yield (
            f"No interval: of {nationalities} nationalities in random order, 1 in "
            f"{math.factorial(nationalities) // 2} orders correlates perfectly (-1 or 1) with "
            f"users. At {100 * level:g} % {needed} nationalities are needed: run stereotypes of "
            "more, and give their users with --users FILE."
        )
    if any(shown.correlation and not shown.needed for shown in footprints):
        yield (
            "Intervals of rank correlations are about other images of these nationalities, and not "
            "about other nationalities."
        )


def _name_remarks(
    footprints: Footprints, concepts: Sequence[str], strangers: Sequence[str]
) -> Iterator[str]:
    """Yield remarks on names that only the stereotypes or only the users have."""
    unknown = [concept for concept in concepts if concept not in footprints.users]
    if unknown:
        yield f"Left out, because their internet users are not known: {some(unknown)}."
    if strangers:
        yield f"Left out, because these runs have no stereotypes of them: {some(strangers)}."
