"""Dependent pictures: how many are equal, and which checks have no verdict because of them.

A model that ignores the seed, a cache, and copies in a folder give one picture several times. Equal
pictures are one observation. Where more than a tenth of a prompt's pictures repeat, the distinct
ones are no independent draws either, and the prompt has no verdict. The model has none where more
than a tenth of all its pictures repeat, or where a measurement's evidence does not hold whatever
such prompts show.

A tenth or less may repeat: then the evidence holds whether equal pictures count once or each. They
count once where a cache repeats what was drawn before. They count each where one group's pictures
come from a smaller pool, as its share would shrink otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from typing import NamedTuple, Protocol, runtime_checkable

from pytest_t2i.data import Evidence, MetricInfo, Outcome, Verdict
from pytest_t2i.errors import some
from pytest_t2i.statistics.shares import Beyond
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.caveats.seams import Counted, Question

MOST_REPEATED = 0.1
"""Largest share of repeated pictures with which there is a verdict. Where more repeat, the distinct
pictures are no independent draws either."""
EvidenceAt = Callable[[float, float], Evidence]
"""(bound, level) -> evidence."""
SHOWN = 5
"""Number of prompts that a message names."""


class Repeats(NamedTuple):
    """The numbers of pictures, and of distinct ones, of one prompt or of several.

    >>> (Repeats(20, 18, 0) + Repeats(20, 20, 1)).share, Repeats(20, 17, 0).are_too_many
    (0.05, True)
    """

    pictures: int
    """Pictures that show something: no refused, black or unreadable ones."""
    distinct: int
    """Pictures of different pixels; the others repeat one of these, of the same prompt."""
    nearly_equal: int
    """Distinct pictures that are nearly equal to another one of the same prompt."""

    def __add__(self, other: Repeats) -> Repeats:  # type: ignore[override]
        return Repeats(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def repeated(self) -> int:
        """Number of pictures that repeat an earlier one of their prompt."""
        return self.pictures - self.distinct

    @property
    def share(self) -> float:
        """Share of repeated pictures, 0 to 1."""
        return self.repeated / self.pictures if self.pictures else 0.0

    @property
    def are_too_many(self) -> bool:
        return self.share > MOST_REPEATED

    @property
    def words(self) -> str:
        """Why there is no verdict; "" where few enough pictures repeat."""
        if not self.are_too_many:
            return ""
        return (
            f"{self.repeated} of {self.pictures} pictures repeat an earlier one of the same "
            f"prompt: with more than {MOST_REPEATED:.0%} there is no verdict. Look for a cache, a "
            "constant seed or copied files"
        )


NONE = Repeats(0, 0, 0)


@runtime_checkable
class KnowsPictures(Protocol):
    """What knows the pictures of a test."""

    def repeats(self) -> Mapping[str, Repeats]:
        """Return the equal pictures of the test's prompts, by text."""

    def texts_of(self, subject: str) -> AbstractSet[str] | None:
        """Return the texts of the prompts of a subject; None where it is none of the test's."""

    def name_of(self, text: str) -> str:
        """Return the name of the prompt with this text."""


class EqualPictures:
    """Nothing is decided of pictures of which too many repeat; a few may count once or each."""

    name = "equal pictures"
    fills_in = False

    def reading(self, counted: Counted, side: Beyond) -> Counted:
        """Return the images with equal ones counted each, whichever side they weaken."""
        del side
        return counted.with_each(lambda member: member.with_repeats)

    def void(self, question: Question) -> str:
        """Return how many pictures repeat; "" where few enough do, or the evidence allows it."""
        measurement, run = question.measurement, question.known(KnowsPictures)  # type: ignore[type-abstract]
        if run is None or measurement.despite_repeats == "":
            return ""
        by_text = run.repeats()
        texts = None if measurement.is_of_model else run.texts_of(measurement.subject)
        if texts is not None:
            repeats = (by_text.get(text, NONE) for text in texts)
            return max(repeats, key=lambda of_text: of_text.share).words
        total = reduce(Repeats.__add__, by_text.values(), NONE)
        if total.are_too_many:
            return total.words
        doubtful = [text for text, repeats in by_text.items() if repeats.are_too_many]
        # The worst case over repeated pictures is that of a limit.
        if not doubtful or (measurement.despite_repeats and question.against == "limit"):
            return ""
        return (
            f"more than {MOST_REPEATED:.0%} of the pictures of {len(doubtful)} of "
            f"{len(by_text)} prompts repeat an earlier one "
            f"({some([run.name_of(text) for text in doubtful], SHOWN)}), and whatever these show "
            "could turn the verdict"
        )

    def remark(self, question: Question, verdict: Verdict) -> Caveat | None:
        """Say which prompts a verdict leaves out, and whether they could turn it."""
        names = question.measurement.despite_repeats
        if not names or question.against != "limit":
            return None
        turns = verdict.outcome is Outcome.INCONCLUSIVE
        what = (
            ", and they could turn the verdict"
            if turns
            else (": the evidence holds whatever they show")
        )
        return Caveat(self.name, f"too many pictures repeat for a verdict on {names}{what}")


def whatever_some_show(
    of_others: EvidenceAt, names: Sequence[str], others: int, metric: MetricInfo
) -> tuple[EvidenceAt, str | None]:
    """Return the evidence of a mean over units that holds whatever some of them show.

    These have too many equal pictures. The second value names them, for
    ``Measurement.despite_repeats``; it is None without any.

    The mean over all units is m = (1 - s) o + s x, with the share s of some units, the mean o of
    the others and any value x of the metric for these. The others decide at the bound to which o
    must lie so that m lies beyond, or within, for every x.
    """
    if not names:
        return of_others, None
    units = len(names) + others
    share, low, high = len(names) / units, metric.low, metric.high
    reach = max(-low, high)
    best, worst = {
        "lower": (high, low), "higher": (low, high), "away_from_zero": (-reach, reach),
    }[metric.worse]  # fmt: skip
    least, most = (0.0, reach) if metric.worse == "away_from_zero" else (low, high)

    def evidence(bound: float, level: float) -> Evidence:
        sides: dict[str, tuple[float | None, float | None]] = {}
        for name, value in (("beyond", best), ("within", worst)):
            at = (bound - share * value) / (1.0 - share) if others else math.inf
            is_possible = least <= at <= most
            rest = of_others(at, level) if is_possible else Evidence(1.0, 1.0)
            alone = rest.labelled or (rest.beyond, rest.within)
            sides[name] = (getattr(rest, name), alone[name == "within"])
        p_values, labelled = zip(sides["beyond"], sides["within"], strict=True)
        return Evidence(*p_values, labelled=labelled if labelled != p_values else None)

    return evidence, some(names, SHOWN)
