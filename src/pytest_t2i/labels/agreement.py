"""The agreement of annotators (Lyu section 3.3): kappa with its interval, and disagreements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from pytest_t2i.data import Interval
from pytest_t2i.labels.consensus import agreed, disagreements
from pytest_t2i.labels.label import ADJUDICATED, UNSETTLED, Label
from pytest_t2i.labels.vocabulary import RULES
from pytest_t2i.statistics.detectors import fleiss_interval, kappa_interval

MORE_THAN_A_PAIR = 3


@dataclass(frozen=True, slots=True)
class AnnotatorPair:
    """The agreement of two annotators on the images that both labelled."""

    first: str
    second: str
    images: int
    equal: int
    """Number of images to which both gave the same label."""
    kappa: Interval | None
    """Cohen's kappa; None where it is 0/0."""
    why: str = ""
    """Reason why there is no kappa."""

    def __str__(self) -> str:
        """Return the agreement in words."""
        kappa = (
            f"no kappa: {self.why}"
            if self.kappa is None
            else f"Cohen's kappa {self.kappa} ({100 * self.kappa.level:g} %)"
        )
        alike = f"{self.equal} of {self.images} images alike"
        return f"{self.first} and {self.second}: {alike}, {kappa}"


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of all annotators of a set."""

    annotators: tuple[str, ...]
    pairs: tuple[AnnotatorPair, ...]
    fleiss: Interval | None
    """Fleiss' kappa of three or more annotators, on the images that all of them labelled."""
    common: int
    """Number of images that all annotators labelled."""
    differing: dict[str, list[Label]]
    """File -> labels, for files with different labels."""
    images: int
    """Number of images with any label."""
    unlabelled: dict[str, int]
    """Rule -> number of images that stay unsettled by the rule."""


def agreement(labels: Sequence[Label], *, level: float = 0.95, seed: int = 0) -> Agreement:
    """Return the agreement of every pair of annotators, and of all if there are more than two.

    Adjudicated labels belong to no annotator and are left out.
    """
    words: dict[str, dict[str, str]] = {}
    for label in labels:
        if label.annotator != ADJUDICATED:
            words.setdefault(label.annotator, {})[label.file] = label.label
    names = tuple(sorted(words))
    common = set.intersection(*(set(answers) for answers in words.values())) if words else set()
    return Agreement(
        names,
        tuple(_pair(a, b, words, level) for a, b in combinations(names, 2)),
        _fleiss(words, sorted(common), level, seed) if len(names) >= MORE_THAN_A_PAIR else None,
        len(common),
        disagreements(labels),
        len({label.file for label in labels}),
        {rule: list(agreed(labels, rule).values()).count(UNSETTLED) for rule in RULES},
    )


def _pair(a: str, b: str, words: dict[str, dict[str, str]], level: float) -> AnnotatorPair:
    files = sorted(words[a].keys() & words[b].keys())
    first, second = [words[a][file] for file in files], [words[b][file] for file in files]
    equal = sum(x == y for x, y in zip(first, second, strict=True))
    if not files:
        return AnnotatorPair(a, b, 0, 0, None, "no image was labelled by both")
    if len({*first, *second}) == 1:
        return AnnotatorPair(
            a, b, len(files), equal, None, f"both said {first[0]} of every image (0/0)"
        )
    return AnnotatorPair(a, b, len(files), equal, kappa_interval(first, second, level))


def _fleiss(
    words: dict[str, dict[str, str]], files: Iterable[str], level: float, seed: int
) -> Interval | None:
    rows = [[answers[file] for answers in words.values()] for file in files]
    names = sorted({label for entry in rows for label in entry})
    ratings = [[entry.count(label) for label in names] for entry in rows]
    if len(ratings) < 2 or len({label for entry in rows for label in entry}) < 2:  # noqa: PLR2004 - 0/0
        return None
    return fleiss_interval(ratings, level=level, seed=seed)
