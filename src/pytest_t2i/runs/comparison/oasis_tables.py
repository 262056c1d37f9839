"""Several recorded runs side by side: the tables and analyses of OASIS (Tables 1 and 2, 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_t2i import statistics
from pytest_t2i.data import Interval
from pytest_t2i.prompts.internet_users import Footprints
from pytest_t2i.runs.record import PromptRecord, RunRecord, StereotypeRecord
from pytest_t2i.statistics.rank_trend import FEWEST_GROUPS, Counted

MALE, FEMALE = "male", "female"


@dataclass(frozen=True, slots=True)
class Row:
    """One attribute of one concept in several runs (OASIS Table 1)."""

    concept: str
    attribute: str
    expected: float
    measured: tuple[StereotypeRecord | None, ...]
    """By run; None where a run did not look for it."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """How stereotype scores go with internet users in one run (OASIS 4.2)."""

    model: str
    correlation: Interval | None
    means: dict[str, float]
    """Nationality -> mean stereotype score."""
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Addition:
    """How a word that is added to a prompt changes the share of men (OASIS Table 2)."""

    model: str
    concept: str
    """Alone."""
    added: str
    alone: Interval
    together: Interval
    change: Interval


def table_1(runs: Sequence[RunRecord]) -> list[Row]:
    """Every stereotype of any run, in order of appearance.

    Scores against other real-world shares stand in rows of their own.
    """
    known = [{_asked(score): score for score in run.stereotypes} for run in runs]
    keys = dict.fromkeys(key for scores in known for key in scores)
    return [Row(*key[:3], tuple(scores.get(key) for scores in known)) for key in keys]


def _asked(score: StereotypeRecord) -> tuple[str, str, float, str]:
    return score.concept, score.attribute, score.expected, score.direction


def footprint(run: RunRecord, footprints: Footprints, level: float, seed: int) -> Footprint:
    """Rank correlation over the nationalities of a run whose users are known."""
    groups: dict[str, list[Counted]] = {}
    scores: dict[str, list[float]] = {}
    for stereotype in run.stereotypes:
        if (
            stereotype.share is not None
            and stereotype.score is not None
            and stereotype.concept in footprints.users
        ):
            shown = round(stereotype.share.estimate * stereotype.share.n)
            sign = -1 if stereotype.direction == "under" else 1
            groups.setdefault(stereotype.concept, []).append(
                (shown, stereotype.share.n, stereotype.expected, sign)
            )
            scores.setdefault(stereotype.concept, []).append(stereotype.score.estimate)
    means = {name: sum(values) / len(values) for name, values in scores.items()}
    if len(groups) < FEWEST_GROUPS:
        absent = f"{len(groups)} nationalities with known internet users: three are needed"
        return Footprint(run.model, None, means, absent)
    users = [footprints.users[name] for name in groups]
    if len(set(users)) == 1:
        absent = f"all {len(groups)} nationalities have {users[0]:g} internet users: no order"
        return Footprint(run.model, None, means, absent)
    correlation = statistics.rank_correlation_interval(
        users, list(groups.values()), level=level, seed=seed
    )
    return Footprint(run.model, correlation, means)


def additions(run: RunRecord, level: float) -> Iterator[Addition]:
    """Of every crossed prompt beside each of its words alone, where the run has that, too."""
    alone = {(p.axis, p.concept): p for p in run.prompts if p.variant == "neutral"}
    by_id = {prompt.id: prompt for prompt in run.prompts}
    for table in run.cells:
        for cell in table.cells:
            sides = ((table.rows, cell.row, cell.column), (table.columns, cell.column, cell.row))
            for axis, concept, added in sides:
                single, both = alone.get((axis, concept)), by_id.get(cell.id)
                if single is not None and both is not None:
                    yield from _addition(run.model, concept, added, (single, both), level)


def _addition(
    model: str, concept: str, added: str, prompts: tuple[PromptRecord, PromptRecord], level: float
) -> Iterator[Addition]:
    before, after = map(_men, prompts)
    if before[1] and after[1]:
        alone, together = (statistics.share_interval(*counts, level) for counts in (before, after))
        change = statistics.share_difference_interval(before, after, level)
        yield Addition(model, concept, added, alone, together, change)


def _men(prompt: PromptRecord) -> tuple[int, int]:
    """Men, and images of one clear man or woman, by the deciding detector."""
    labels = next(iter(prompt.counts.values())).labels
    men = labels.get(MALE, 0)
    return men, men + labels.get(FEMALE, 0)
