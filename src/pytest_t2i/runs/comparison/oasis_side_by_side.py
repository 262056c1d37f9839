"""All that ``t2i stereotypes`` shows of several runs, at one level."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.prompts.internet_users import (
    Footprints,
    check_names,
    of_no_concept,
    read_footprints,
)
from pytest_t2i.runs.comparison.oasis_tables import (
    Addition,
    Footprint,
    Row,
    additions,
    crossed,
    footprint,
    table_1,
    words_missing,
)
from pytest_t2i.runs.read_run import read_run
from pytest_t2i.runs.record import RunRecord


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Several runs side by side."""

    level: float
    """Of every interval."""
    models: tuple[str, ...]
    """Of the columns of ``rows``."""
    rows: tuple[Row, ...]
    source: str
    """Of the internet users."""
    footprints: tuple[Footprint, ...]
    remarks: tuple[str, ...]
    """What is to be known of the rank correlations."""
    additions: tuple[Addition, ...]
    missing: tuple[str, ...]
    """What a crossing lacks to be held against its words alone."""


def read_runs(sources: Sequence[Path]) -> list[RunRecord]:
    """Runs with a name each: two of one model are told apart by their date, else by their number.

    Raises ConfigurationError for a run that is given twice.
    """
    runs = [read_run(source) for source in sources]
    for number, run in enumerate(runs):
        if run in runs[:number]:
            first = sources[runs.index(run)]
            raise ConfigurationError(
                f"expected every run once, got the run of {first} again as {sources[number]}. "
                "Leave one of them out"
            )
    names = Counter(run.model for run in runs)
    dated = [
        replace(run, model=f"{run.model} ({run.created[:16]})") if names[run.model] > 1 else run
        for run in runs
    ]
    names = Counter(run.model for run in dated)
    return [
        replace(run, model=f"{run.model} #{number}") if names[run.model] > 1 else run
        for number, run in enumerate(dated, 1)
    ]


def side_by_side(
    runs: Sequence[RunRecord], users: Path | None, level: float, seed: int
) -> SideBySide:
    """What the runs have for the tables of OASIS.

    Args:
        runs: with a name each.
        users: a file of internet users; None takes those of OASIS.
        level: of every interval.
        seed: of the resampling.

    Raises:
        ConfigurationError: the runs have nothing for any table, or what is needed to compute an
            interval of this level is missing.
        FileFormatError: ``users`` is not as it should be.
    """
    footprints = read_footprints(users)
    concepts = list(dict.fromkeys(s.concept for run in runs for s in run.stereotypes))
    if users is not None:
        check_names(users, footprints, concepts)
    correlated = [footprint(run, footprints, level, seed) for run in runs] if concepts else []
    strangers = of_no_concept(footprints, concepts) if users is not None else []
    shown = SideBySide(
        level,
        tuple(run.model for run in runs),
        tuple(table_1(runs, level)),
        footprints.source,
        tuple(correlated),
        (*_of_intervals(correlated, level), *_of_names(footprints, concepts, strangers)),
        tuple(addition for run in runs for addition in additions(run, level)),
        tuple(words for run in runs for words in words_missing(run)),
    )
    _check_something(runs, shown)
    return shown


def _check_something(runs: Sequence[RunRecord], shown: SideBySide) -> None:
    if not any(run.stereotypes or crossed(run) for run in runs):
        raise ConfigurationError(
            "none of these runs looked for stereotypes or crossed two axes: run suites/stereotypes"
        )
    if not shown.rows and not shown.additions:
        unclear = ("no crossed prompt and word alone have images of one clear man or woman",)
        raise ConfigurationError("nothing to show. " + "\n".join(shown.missing or unclear))


def _of_intervals(footprints: Sequence[Footprint], level: float) -> Iterator[str]:
    """How far rank correlations can be trusted."""
    few = {len(shown.means): shown.needed for shown in footprints if shown.needed}
    for nationalities, needed in sorted(few.items()):
        yield (
            f"No interval: of {nationalities} nationalities in any order 1 in "
            f"{math.factorial(nationalities) // 2} goes perfectly with users (-1 or 1) by chance. "
            f"At {100 * level:g} % {needed} nationalities are needed: run stereotypes of more, and "
            "give their users with --users FILE."
        )
    if any(shown.correlation and not shown.needed for shown in footprints):
        yield (
            "Intervals of rank correlations say what other images of these nationalities would "
            "show, and nothing of other nationalities."
        )


def _of_names(
    footprints: Footprints, concepts: Sequence[str], strangers: Sequence[str]
) -> Iterator[str]:
    """What stands on one side only: among the stereotypes, among the users."""
    unknown = [concept for concept in concepts if concept not in footprints.users]
    if unknown:
        yield f"Left out, internet users are not known: {some(unknown)}."
    if strangers:
        yield f"Left out, no stereotype of these runs is of them: {some(strangers)}."
