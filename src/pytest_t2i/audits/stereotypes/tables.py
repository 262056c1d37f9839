"""Several recorded runs side by side: the tables and analyses of OASIS (Tables 1 and 2, 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_t2i import statistics
from pytest_t2i.audits.stereotypes.record import StereotypeRecord
from pytest_t2i.data import Interval
from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.prompts.internet_users import Footprints
from pytest_t2i.statistics.associations import (
    FEWEST_GROUPS,
    Counted,
    fewest_groups,
    rank_correlation_interval,
)
from pytest_t2i.statistics.sequences import METHOD as SEQUENCE
from pytest_t2i.statistics.sequences import stereotype_sequence
from pytest_t2i.statistics.shares import stereotype_interval

MALE, FEMALE = "male", "female"
NEARLY_WHOLE = 1e-6
"""Largest distance of share times images from a whole number, relative to the number of images."""


@dataclass(frozen=True, slots=True)
class Row:
    """One attribute of one concept in several runs (OASIS Table 1)."""

    concept: str
    attribute: str
    expected: float
    measured: tuple[StereotypeRecord | None, ...]
    """Record per run; None where a run did not look for the attribute."""


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


def looked_for(run: Any) -> tuple[StereotypeRecord, ...]:
    """Return the stereotypes of a run."""
    return getattr(run.part("stereotypes"), "stereotypes", ())


def table_1(runs: Sequence[Any], level: float) -> list[Row]:
    """Return a row for every stereotype of any run, in order of appearance.

    Scores against different real-world shares have different rows. Raises ConfigurationError where
    a run has intervals of another level and no counts from which to compute them.
    """
    known = [{_asked(score): at_level(score, level) for score in looked_for(run)} for run in runs]
    keys = dict.fromkeys(key for scores in known for key in scores)
    return [Row(*key[:3], tuple(scores.get(key) for scores in known)) for key in keys]


def at_level(score: StereotypeRecord, level: float) -> StereotypeRecord:
    """Return the record with intervals of this level, by the method that the run used."""
    if score.share is None or score.score is None:
        return score
    if score.share.level == score.score.level == level:
        return score
    shown, clear, expected, _ = _counted(score, score.share)
    is_sequence = score.score.method == SEQUENCE
    interval = stereotype_sequence if is_sequence else stereotype_interval
    return replace(
        score,
        share=statistics.share_interval(shown, clear, level),
        score=interval(shown, clear, expected, level, score.direction),
    )


def _counted(score: StereotypeRecord, share: Interval) -> Counted:
    """Return the counts behind a share; raises ConfigurationError without whole counts."""
    count = share.estimate * share.n
    shown = round(count)
    if not 0 <= shown <= share.n or not share.n or abs(count - shown) > NEARLY_WHOLE * share.n:
        raise ConfigurationError(
            f"{score.id}: expected a share of whole images, got share.estimate={share.estimate}, "
            f"share.n={share.n}: intervals need counts of images. Record the run again"
        )
    return shown, share.n, score.expected, -1 if score.direction == "under" else 1


def _asked(score: StereotypeRecord) -> tuple[str, str, float, str]:
    return score.concept, score.attribute, score.expected, score.direction


def footprint(run: Any, footprints: Footprints, level: float, seed: int) -> Footprint:
    """Return the rank correlation over the nationalities of a run with known users."""
    groups: dict[str, list[Counted]] = {}
    scores: dict[str, list[float]] = {}
    for stereotype in looked_for(run):
        if (
            stereotype.share is not None
            and stereotype.score is not None
            and stereotype.concept in footprints.users
        ):
            groups.setdefault(stereotype.concept, []).append(_counted(stereotype, stereotype.share))
            scores.setdefault(stereotype.concept, []).append(stereotype.score.estimate)
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


def crossed(run: Any) -> tuple[Any, ...]:
    """Return the tables of axes that a run crossed."""
    return getattr(run.part("parity"), "cells", ())


def additions(run: Any, level: float) -> Iterator[Addition]:
    """Yield every crossed prompt with each of its words alone, where the run has both."""
    alone = {(p.axis, p.concept): p for p in run.prompts if p.variant == "neutral"}
    by_id = {prompt.id: prompt for prompt in run.prompts}
    for table in crossed(run):
        for cell in table.cells:
            sides = ((table.rows, cell.row, cell.column), (table.columns, cell.column, cell.row))
            for axis, concept, added in sides:
                single, both = alone.get((axis, concept)), by_id.get(cell.id)
                if single is not None and both is not None:
                    yield from _addition(run.model, concept, added, (single, both), level)


def words_missing(run: Any) -> Iterator[str]:
    """Yield a note, with the remedy, on every crossing whose words the run does not have alone."""
    alone = {(p.axis, p.concept) for p in run.prompts if p.variant == "neutral"}
    for table in crossed(run):
        pairs = [
            *((table.rows, cell.row) for cell in table.cells),
            *((table.columns, cell.column) for cell in table.cells),
        ]
        absent = [pair for pair in dict.fromkeys(pairs) if pair not in alone]
        if absent:
            axes = " and ".join(dict.fromkeys(axis for axis, _ in absent))
            yield (
                f"{run.model}: {table.rows} x {table.columns}: their words alone are missing "
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
