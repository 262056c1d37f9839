"""Earlier runs of a comparison: a test that is repeated until it decides is wrong more often.

A test at 5 % that is repeated with more images, or with other seeds, until it decides is wrong more
often than in 5 % (tests/simulations/reruns.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pytest_t2i.data import Outcome, Verdict
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.caveats.seams import Question
from pytest_t2i.verdicts.measurement import Against

SEVERAL = (
    "judged before: {looks}. After several such runs verdicts are wrong more often than at their "
    "level"
)


class Look(Protocol):
    """A run that judged a comparison."""

    @property
    def seed(self) -> int:
        """Seed of its images."""

    @property
    def images(self) -> int:
        """Images per prompt."""


@runtime_checkable
class KnowsRuns(Protocol):
    """What knows the earlier runs of a test."""

    def earlier_looks(self, metric: str, against: Against, bound: float) -> Sequence[Look]:
        """Return the earlier runs that judged a comparison."""


def looks_in_words(looks: Sequence[Look]) -> str:
    """Return ``2 runs, with 20 and 40 images``; "" for none.

    >>> from types import SimpleNamespace
    >>> looks = [SimpleNamespace(seed=s, images=n) for s, n in ((0, 20), (7, 20), (0, 40))]
    >>> looks_in_words(looks)
    '3 runs, with 20 and 40 images, seeds 0 and 7'
    """
    if not looks:
        return ""
    images = _listed({look.images for look in looks})
    seeds = {look.seed for look in looks}
    runs = "1 run" if len(looks) == 1 else f"{len(looks)} runs"
    return f"{runs}, with {images} images{f', seeds {_listed(seeds)}' if len(seeds) > 1 else ''}"


def _listed(numbers: set[int]) -> str:
    """Return ``20, 40 and 60``."""
    *first, last = map(str, sorted(numbers))
    return f"{', '.join(first)} and {last}" if first else last


class EarlierLooks:
    """Says of a decided comparison which runs looked at it before."""

    name = "earlier looks"

    def remark(self, question: Question, verdict: Verdict) -> Caveat | None:
        """Return the earlier looks in words; None for none, and where nothing is decided."""
        run = question.known(KnowsRuns)  # type: ignore[type-abstract]
        if run is None or verdict.outcome is Outcome.INCONCLUSIVE:
            return None
        metric, bound = question.measurement.name, verdict.limit.bound
        looks = run.earlier_looks(metric, question.against, bound)
        if not looks:
            return None
        message = SEVERAL.format(looks=looks_in_words(looks))
        return Caveat(self.name, message, {"runs": len(looks)})
