"""The output of ``t2i compare stereotypes``: tables of several runs, at one level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pytest_t2i import statistics
from pytest_t2i.audits.stereotypes import METRIC
from pytest_t2i.data import Interval, Prone, Row
from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.prompts.internet_users import (
    Footprints,
    check_names,
    of_no_concept,
    read_footprints,
)
from pytest_t2i.sections import Block, Cell, Column, Form, Paragraph, Section, Table
from pytest_t2i.statistics.associations import (
    FEWEST_GROUPS,
    Counted,
    fewest_groups,
    rank_correlation_interval,
)
from pytest_t2i.statistics.shares import stereotype_interval

MALE, FEMALE = "male", "female"


class Asked(NamedTuple):
    """One attribute of one concept that runs looked for (a line of OASIS Table 1)."""

    concept: str
    attribute: str
    expected: float
    """Real-world share of the attribute."""
    direction: Prone


class Presence(NamedTuple):
    """How many images of a run show an attribute."""

    asked: Asked
    present: int
    clear: int
    """Number of images that the detector could judge."""
    is_scored: bool
    """Whether the run has a score; too many equal pictures have none."""

    def share(self, level: float) -> Interval | None:
        """Return the attribute's share; None without a clear image."""
        if not self.clear:
            return None
        return statistics.share_interval(self.present, self.clear, level)

    def score(self, level: float) -> Interval | None:
        """Return the stereotype score; None without one in the run."""
        if not (self.clear and self.is_scored):
            return None
        _, _, expected, direction = self.asked
        return stereotype_interval(self.present, self.clear, expected, level, direction)

    @property
    def counted(self) -> Counted:
        """The counts as a rank correlation takes them."""
        sign = -1 if self.asked.direction == "under" else 1
        return self.present, self.clear, self.asked.expected, sign


@dataclass(frozen=True, slots=True)
class Footprint:
    """The correlation of stereotype scores with internet users in one run (OASIS 4.2)."""

    model: str
    correlation: Interval | None
    means: dict[str, float]
    """Nationality -> mean stereotype score."""
    absent: str = ""
    """Why there is no correlation; "" where there is one."""
    needed: int = 0
    """Smallest number of nationalities for an interval; 0 where there are as many."""


@dataclass(frozen=True, slots=True)
class Addition:
    """The change of the share of men by a word that is added to a prompt (OASIS Table 2)."""

    model: str
    concept: str
    """The word of the prompt alone."""
    added: str
    alone: Interval
    together: Interval
    change: Interval


def looked_for(run: Any) -> list[Presence]:
    """Return the stereotypes of a run; raises ConfigurationError for rows that lack numbers."""
    rows = run.part("stereotypes")
    return [_found(row) for row in rows.of(METRIC, "stereotype")]


def _found(row: Row) -> Presence:
    expected, direction = row.facts.get("expected"), row.facts.get("direction", "over")
    present, clear = (row.counts.get(name, 0) for name in ("present", "clear"))
    is_share = isinstance(expected, float | int) and 0.0 <= expected <= 1.0
    if not is_share or direction not in get_args(Prone) or present > clear:
        raise ConfigurationError(
            f"{row.subject}: expected a real-world share from 0 to 1, direction over or under, and "
            f"present <= clear, got expected={expected!r}, direction={direction!r}, "
            f"present={present}, clear={clear}. Record the run again"
        )
    line = Asked(str(row.facts.get("concept", "")), row.name, expected, direction)  # type: ignore[arg-type]
    return Presence(line, present, clear, row.interval is not None)


def _table_1(runs: Sequence[Any]) -> dict[Asked, list[Presence | None]]:
    founds = [{presence.asked: presence for presence in looked_for(run)} for run in runs]
    every = dict.fromkeys(line for of_run in founds for line in of_run)
    return {line: [of_run.get(line) for of_run in founds] for line in every}


def _footprint(run: Any, footprints: Footprints, level: float, seed: int) -> Footprint:
    """Return the rank correlation over the nationalities of a run with known users."""
    groups: dict[str, list[Counted]] = {}
    scores: dict[str, list[float]] = {}
    for presence in looked_for(run):
        score, concept = presence.score(level), presence.asked.concept
        if score is not None and concept in footprints.users:
            groups.setdefault(concept, []).append(presence.counted)
            scores.setdefault(concept, []).append(score.estimate)
    means = {name: sum(values) / len(values) for name, values in scores.items()}
    if len(groups) < FEWEST_GROUPS:
        nationalities = "nationality" if len(groups) == 1 else "nationalities"
        absent = f"{len(groups)} {nationalities} with known internet users: three are needed"
        return Footprint(run.model, None, means, absent)
    users = [footprints.users[name] for name in groups]
    if len(set(users)) == 1:
        absent = f"all {len(groups)} nationalities have {users[0]:g} internet users: no order"
        return Footprint(run.model, None, means, absent)
    correlation = rank_correlation_interval(users, list(groups.values()), level=level, seed=seed)
    needed = fewest_groups(level)
    return Footprint(run.model, correlation, means, needed=needed if len(groups) < needed else 0)


def _crossed(run: Any) -> list[Row]:
    """Return the prompts of a run that cross two axes, with the word of each axis."""
    rows = run.part("parity")
    return [row for row in rows if row.metric == "share_of_men" and len(row.dims) == 2]  # noqa: PLR2004


def _additions_of_run(run: Any, level: float) -> Iterator[Addition]:
    """Yield every crossed prompt with each of its words alone, where the run has both."""
    alone = {(p.axis, p.concept): p for p in run.prompts if p.variant == "neutral"}
    by_id = {prompt.id: prompt for prompt in run.prompts}
    for row in _crossed(run):
        (rows, down), (columns, across) = ((axis, str(word)) for axis, word in row.dims.items())
        for axis, concept, added in ((rows, down, across), (columns, across, down)):
            single, crossed_prompt = alone.get((axis, concept)), by_id.get(row.subject)
            if single is not None and crossed_prompt is not None:
                yield from _addition(run.model, concept, added, (single, crossed_prompt), level)


def _words_missing(run: Any) -> Iterator[str]:
    alone = {(p.axis, p.concept) for p in run.prompts if p.variant == "neutral"}
    tables: dict[str, list[tuple[str, Any]]] = {}
    for row in _crossed(run):
        tables.setdefault(" x ".join(row.dims), []).extend(row.dims.items())
    for table, pairs in tables.items():
        absent = sorted(pair for pair in dict.fromkeys(pairs) if pair not in alone)
        if absent:
            axes = " and ".join(dict.fromkeys(axis for axis, _ in absent))
            yield (
                f"{run.model}: {table}: their words alone are missing "
                f"({some([word for _, word in absent])}). Add {axes} to the marker beside "
                "intersection(...), and run again."
            )


def _addition(
    model: str, concept: str, added: str, prompts: tuple[Any, Any], level: float
) -> Iterator[Addition]:
    before, after = map(_men, prompts)
    if before[1] and after[1]:
        alone, together = (statistics.share_interval(*counts, level) for counts in (before, after))
        change = statistics.share_difference_interval(before, after, level)
        yield Addition(model, concept, added, alone, together, change)


def _men(prompt: Any) -> tuple[int, int]:
    """Return the images of a clear man, and of a clear man or woman, by the deciding detector."""
    labels = prompt.decided.labels
    men = labels.get(MALE, 0)
    return men, men + labels.get(FEMALE, 0)


SCORES = "Stereotype scores"
USERS = "Stereotype scores against internet users"
ADDED = "Share of men when a word is added"
BELOW = "Below 0, scores are higher where users are fewer."
PERCENT: Form = "fine percent"


def side_by_side(runs: Sequence[Any], users: Path | None, level: float, seed: int) -> list[Section]:
    """Return a section for each table of OASIS for which the runs have values."""
    user_footprints = read_footprints(users)
    rows = _table_1(runs)
    concepts = list(dict.fromkeys(line.concept for line in rows))
    if users is not None:
        check_names(users, user_footprints, concepts)
    added = [addition for run in runs for addition in _additions_of_run(run, level)]
    missing = [words for run in runs for words in _words_missing(run)]
    _check_something(runs, has_values=bool(rows or added), missing=missing)
    sections = []
    if rows:
        sections.append(_scores([run.model for run in runs], rows, level))
        footprints = [_footprint(run, user_footprints, level, seed) for run in runs]
        strangers = of_no_concept(user_footprints, concepts) if users is not None else []
        remarks = (
            *_interval_remarks(footprints, level),
            *_name_remarks(user_footprints, concepts, strangers),
        )
        sections.append(_footprints(user_footprints.source, footprints, remarks, level))
    if added or missing:
        sections.append(_additions(added, missing, level))
    return sections


def _check_something(runs: Sequence[Any], *, has_values: bool, missing: Sequence[str]) -> None:
    if not any(looked_for(run) or _crossed(run) for run in runs):
        raise ConfigurationError(
            "none of these runs looked for stereotypes or crossed two axes: run suites/stereotypes"
        )
    if not has_values:
        unclear = ("no crossed prompt and word alone have images of one clear man or woman",)
        raise ConfigurationError("nothing to show. " + "\n".join(missing or unclear))


def _heading(title: str, level: float) -> str:
    return f"{title} ({100 * level:g} % intervals)"


def _scores(
    models: Sequence[str], rows: Mapping[Asked, Sequence[Presence | None]], level: float
) -> Section:
    pairs = (f"{model}: {what}" for model in models for what in ("share", "score"))
    columns = ("concept", "attribute", "real world", *pairs)
    cells = tuple(
        (*line[:3], *chain.from_iterable(_pair(presence, level) for presence in founds))
        for line, founds in rows.items()
    )
    table = Table(SCORES, columns, cells, form=PERCENT, names=2, whole=True)
    return Section(_heading(SCORES, level), (table,))


def _pair(found: Presence | None, level: float) -> tuple[Interval | None, Interval | None]:
    return (None, None) if found is None else (found.share(level), found.score(level))


def _footprints(
    source: str, footprints: Sequence[Footprint], remarks: Sequence[str], level: float
) -> Section:
    rows = tuple(
        (footprint.model, _correlation(footprint), len(footprint.means), _means(footprint))
        for footprint in footprints
    )
    columns = ("model", "rank correlation", "nationalities", "mean score")
    blocks: tuple[Block, ...] = (
        Paragraph(f"Users: {source}. {BELOW}"),
        Table(USERS, columns, rows, whole=True),
        *map(Paragraph, remarks),
    )
    return Section(_heading(USERS, level), blocks)


def _correlation(footprint: Footprint) -> Cell:
    if footprint.correlation is None or not footprint.needed:
        return footprint.correlation or footprint.absent
    few = f"no interval: {len(footprint.means)} nationalities are too few"
    return f"{footprint.correlation.estimate:.3f}, {few} ({footprint.needed} needed)"


def _means(footprint: Footprint) -> str:
    return ", ".join(f"{name} {mean:.3f}" for name, mean in footprint.means.items())


def _additions(added: Sequence[Addition], missing: Sequence[str], level: float) -> Section:
    columns = (
        Column("model"), Column("concept"), Column("alone", style=PERCENT), Column("with"),
        Column("together", style=PERCENT), Column("change", style="signed"),
    )  # fmt: skip
    rows = tuple(
        (
            addition.model,
            addition.concept,
            addition.alone,
            addition.added,
            addition.together,
            _points(addition.change),
        )
        for addition in added
    )
    table = Table.of(ADDED, columns, rows, digits=1, names=2, whole=True)
    return Section(_heading(ADDED, level), (table, *map(Paragraph, missing)))


def _points(change: Interval) -> Interval:
    low, estimate, high = (100 * value for value in (change.low, change.estimate, change.high))
    return replace(change, low=low, estimate=estimate, high=high)


def _interval_remarks(footprints: Sequence[Footprint], level: float) -> Iterator[str]:
    few = {len(footprint.means): footprint.needed for footprint in footprints if footprint.needed}
    for nationalities, needed in sorted(few.items()):
        yield (
            f"No interval: of {nationalities} nationalities in random order, 1 in "
            f"{math.factorial(nationalities) // 2} orders correlates perfectly (-1 or 1) with "
            f"users. At {100 * level:g} % {needed} nationalities are needed: run stereotypes of "
            "more, and give their users with --users FILE."
        )
    if any(footprint.correlation and not footprint.needed for footprint in footprints):
        yield (
            "Intervals of rank correlations are about other images of these nationalities, and not "
            "about other nationalities."
        )


def _name_remarks(
    footprints: Footprints, concepts: Sequence[str], strangers: Sequence[str]
) -> Iterator[str]:
    unknown = [concept for concept in concepts if concept not in footprints.users]
    if unknown:
        yield f"Left out, because their internet users are not known: {some(unknown)}."
    if strangers:
        yield f"Left out, because these runs have no stereotypes of them: {some(strangers)}."
