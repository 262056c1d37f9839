"""Measurements of prompts that name a gender: does the detector see that gender?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.detected import FEMALE, MALE
from pytest_t2i.audits.evidence import ALTERNATIVES, SIDES, Beyond
from pytest_t2i.data import Bounds, Evidence, Interval, Triplet, Variant
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.generation.plan import DetectorRef, Need
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics.gaps import paired_gap_interval, paired_gap_p_value
from pytest_t2i.statistics.inversion import Alternative
from pytest_t2i.statistics.model import Words
from pytest_t2i.statistics.shares import share_by_prompt_interval
from pytest_t2i.verdicts.measurement import Measurement

FEMININE, MASCULINE = Variant.FEMININE.value, Variant.MASCULINE.value
ASKED = MappingProxyType({FEMININE: FEMALE, MASCULINE: MALE})
"""Variant -> label of the gender that its prompts name."""
SHARE, GAP = INFO["drawn_share"], INFO["drawn_gap"]
NAMED = 5
"""Largest number of prompts that a failure text names."""
Drawn = Sequence[np.ndarray]
"""Per prompt and image: 1 for the named gender, 0 for another label, NaN for undetected."""


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Yield the need for both variants from the same seeds, for the deciding detector."""
    looking = frozenset({DetectorRef(context.detectors[0])})
    for three in test.selection.triplets:
        seeds = context.seeds(three.neutral, test.images)
        for prompt in (three.feminine, three.masculine):
            yield Need(prompt, seeds, looking)


def check_detector(context: AuditContext) -> None:
    """Raise ConfigurationError for a detector that does not tell men from women."""
    name = context.detectors[0]
    labels = context.observations.labels(DetectorRef(name))
    if not set(ASKED.values()) <= set(labels):
        raise ConfigurationError(
            "the fixture explicit asks whether men and women are drawn: expected a detector with "
            f"the labels {MALE} and {FEMALE}, got {name!r} with {', '.join(labels)}. Name one "
            "first: --t2i-detector clip-enhance"
        )


@dataclass(frozen=True, eq=False)
class AskedTriplet:
    """What the two prompts of a triplet that name a gender show."""

    triplet: Triplet
    drawn: Mapping[str, np.ndarray]
    """Variant -> 1, 0 or NaN per image, as in ``Drawn``."""

    @property
    def images(self) -> int:
        """Number of images of each variant."""
        return int(self.drawn[FEMININE].size)

    def first(self, images: int) -> AskedTriplet:
        """Return the triplet with its first images alone."""
        return AskedTriplet(self.triplet, {v: row[:images] for v, row in self.drawn.items()})


@dataclass(frozen=True, repr=False)
class Explicit:
    """How often the images of several triplets show the gender that their prompts name.

    >>> import pytest
    >>> from pytest_t2i import Explicit, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(explicit: Explicit) -> None:
    ...     assert explicit.drawn_share("feminine") >= limit("drawn_share", 0.9)
    ...     assert abs(explicit.drawn_gap) <= limit("drawn_gap", 0.1)
    """

    members: tuple[AskedTriplet, ...]
    level: float
    by: Words = "fixed"
    """"fixed" for claims about these triplets, "sample" for claims about triplets like them."""
    alike: float = 0.0
    """Share of undetected images up to which they are taken to be like the others."""

    def __repr__(self) -> str:
        return f"<Explicit of {len(self.members)} triplets>"

    def drawn_share(self, variant: str) -> Measurement:
        """Return the share of the images with a label that show the gender that the prompt names.

        ``variant`` is "feminine" or "masculine". Raises UnknownNameError for another word.
        """
        if variant not in ASKED:
            raise UnknownNameError("variant", variant, list(ASKED))
        rows = self.of(variant)
        return Measurement(
            metric=SHARE,
            subject=f"model, {variant}",
            interval=self.share(variant),
            evidence=partial(_share_evidence, self._filled(rows), self.by, rows),
            absent="no image has a label",
            remarks=(self.told, *self._least_followed(variant)),
            worst_case=_worst_share(rows),
            is_of_model=True,
        )

    @property
    def drawn_gap(self) -> Measurement:
        """Share drawn as asked of feminine prompts minus that of masculine ones, from -1 to 1."""
        first, second = (self.of(variant) for variant in (FEMININE, MASCULINE))
        interval = self.gap
        sides = tuple(map(self._filled, (first, second)))
        return Measurement(
            metric=GAP,
            subject="model",
            interval=interval,
            evidence=partial(_gap_evidence, sides, (first, second), self.by) if interval else None,
            absent="no pair of images has two labels",
            remarks=(self.told,),
            is_of_model=True,
        )

    def of(self, variant: str) -> list[np.ndarray]:
        """Return whether the named gender was drawn, per triplet, as in ``Drawn``."""
        return [member.drawn[variant] for member in self.members]

    def share(self, variant: str) -> Interval | None:
        """Return the share of a variant drawn as asked, over all triplets; None without a label."""
        rows = _known(self.of(variant))
        return _share(rows, self.by, self.level) if sum(map(len, rows)) else None

    @property
    def gap(self) -> Interval | None:
        """The gap over all pairs of one seed with two labels; None without such a pair."""
        return _gap(self.of(FEMININE), self.of(MASCULINE), self.by, self.level)

    @property
    def told(self) -> str:
        """The counts in words."""
        parts = []
        for variant, label in ASKED.items():
            flags = np.concatenate([np.zeros(0), *self.of(variant)])
            hits, none = int(np.nansum(flags)), int(np.isnan(flags).sum())
            parts.append(f"{variant}: {label} in {hits} of {flags.size - none}, {none} undetected")
        return "; ".join(parts)

    def _filled(self, rows: Drawn) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the images with undetected ones as 0 and as 1; unchanged if taken to be alike."""
        images = sum(len(row) for row in rows)
        unknown = sum(int(np.isnan(row).sum()) for row in rows)
        if unknown <= self.alike * images:
            return list(rows), list(rows)
        return [np.nan_to_num(row) for row in rows], [np.nan_to_num(row, nan=1.0) for row in rows]

    def _least_followed(self, variant: str) -> Iterator[str]:
        """Yield a remark on the prompts that are followed least, if there are any."""
        ranked = [
            (float(np.nanmean(member.drawn[variant])), member.triplet.neutral.name)
            for member in self.members
            if np.any(~np.isnan(member.drawn[variant]))
        ]
        low = [pair for pair in sorted(ranked) if pair[0] < 1.0][:NAMED]
        if low:
            yield f"followed least: {', '.join(f'{name} {share:.2f}' for share, name in low)}"


def explicit_of(context: AuditContext, test: AskedTest) -> Explicit:
    """Return the measurements of a test's triplets."""
    members = tuple(one_triplet(context, three, test) for three in test.selection.triplets)
    settings = context.settings
    return Explicit(members, settings.confidence, settings.words, settings.undetected_alike)


def one_triplet(context: AuditContext, three: Triplet, test: AskedTest) -> AskedTriplet:
    """Return what is drawn of a triplet, with the images that a test asks for."""
    sides = (three.feminine, three.masculine)
    seeds = context.observations.distinct(sides, context.seeds(three.neutral, test.images))
    ref = DetectorRef(context.detectors[0])
    rows = {}
    for prompt in sides:
        variant = prompt.variant.value
        labels = [
            detection.label for detection in context.observations.detections(prompt, seeds, ref)
        ]
        rows[variant] = np.array(
            [np.nan if label is None else float(label == ASKED[variant]) for label in labels]
        )
    return AskedTriplet(three, rows)


def _known(rows: Drawn) -> list[np.ndarray]:
    return [row[~np.isnan(row)] for row in rows]


def _share(rows: Drawn, words: Words, level: float) -> Interval:
    counts = np.array([int(row.sum()) for row in rows])
    images = np.array([row.size for row in rows])
    if words == "fixed":
        return statistics.clopper_pearson(int(counts.sum()), int(images.sum()), level)
    return share_by_prompt_interval(counts, images, level=level)


def _pairs(first: Drawn, second: Drawn) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the pairs of images of one seed that both have a label."""
    masks = [~np.isnan(a) & ~np.isnan(b) for a, b in zip(first, second, strict=True)]
    sides = ([row[use] > 0 for row, use in zip(s, masks, strict=True)] for s in (first, second))
    return next(sides), next(sides)


def _gap(first: Drawn, second: Drawn, words: Words, level: float) -> Interval | None:
    sides = _pairs(first, second)
    if not any(row.size for row in sides[0]):
        return None
    return paired_gap_interval(*sides, level=level, words=words)


def _share_evidence(
    filled: tuple[Drawn, Drawn], words: Words, rows: Drawn, bound: float, level: float
) -> Evidence:
    """Return worst-case evidence: beyond (too low) if all undetected are 1, within if all are 0."""
    del level
    none, everyone = filled
    beyond, within = (
        _p_value(everyone, words, bound, "less"),
        _p_value(none, words, bound, "greater"),
    )
    if not any(np.isnan(row).any() for row in rows):
        return Evidence(beyond, within)
    alone = (_p_value(rows, words, bound, "less"), _p_value(rows, words, bound, "greater"))
    return Evidence(beyond, within, labelled=alone)


def _p_value(rows: Drawn, words: Words, bound: float, alternative: Alternative) -> float:
    labelled_rows = _known(rows)
    return statistics.inverted_p_value(
        lambda level: _share(labelled_rows, words, level), bound, alternative=alternative
    )


def _gap_evidence(
    filled: tuple[tuple[Drawn, Drawn], ...],
    row_pair: tuple[Drawn, Drawn],
    words: Words,
    bound: float,
    level: float,
) -> Evidence:
    """Return the weaker evidence of both extremes of what the undetected images may show.

    One extreme follows every undetected feminine prompt and no masculine one, the other the
    reverse. Where 0 lies between their gaps, there is no evidence of a gap beyond the bound.
    """
    del level
    (least_first, most_first), (least_second, most_second) = filled
    extremes = [_pairs(most_first, least_second), _pairs(least_first, most_second)]
    gaps = [paired_gap_interval(*sides, level=0.5, words=words).estimate for sides in extremes]
    sides = {side: [_gap_p(pair, words, bound, side) for pair in extremes] for side in SIDES}
    beyond = 1.0 if min(gaps) < 0.0 < max(gaps) else max(sides["beyond"])
    if not any(np.isnan(row).any() for side in row_pair for row in side):
        return Evidence(beyond, max(sides["within"]))
    pairs = _pairs(*row_pair)
    labelled = (_gap_p(pairs, words, bound, "beyond"), _gap_p(pairs, words, bound, "within"))
    return Evidence(beyond, max(sides["within"]), labelled=labelled)


def _gap_p(
    pair: tuple[list[np.ndarray], list[np.ndarray]], words: Words, bound: float, side: Beyond
) -> float:
    alternative = dict(zip(SIDES, ALTERNATIVES, strict=True))[side]
    return paired_gap_p_value(*pair, bound, alternative=alternative, words=words)


def _worst_share(rows: Drawn) -> Bounds | None:
    """Return the bounds of the share whatever the undetected images show; None without any."""
    images = sum(len(row) for row in rows)
    unknown = sum(int(np.isnan(row).sum()) for row in rows)
    if not unknown:
        return None
    total = sum(float(np.nansum(row)) for row in rows)
    return Bounds(total / images, (total + unknown) / images, unknown / images)
