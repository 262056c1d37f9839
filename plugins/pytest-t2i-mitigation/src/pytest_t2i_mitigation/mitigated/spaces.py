"""How near pictures are to both genders, before and after: thesis eq. 4.24 to 4.27 and 4.32.

The bias distance of a set is D(x) = |s(x, feminine) - s(x, masculine)|, with s the mean similarity
over prompts and seeds; the bias mitigation score is B = D(plain) - D(mitigated). Feminine and
masculine pictures share the seeds of both sets. Intervals are about these prompts: they treat the
images of a prompt as draws, and both sets as pairs by seed.

B rewards destroyed pictures, too, as a grey picture is equally far from both genders: it is shown
beside the losses, and the shipped suite does not judge it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from pytest_t2i import FINAL_LATENT, Interval, Prompt, metrics
from pytest_t2i.statistics import gap_interval

from pytest_t2i_mitigation.mitigated import features
from pytest_t2i_mitigation.mitigated.intervals import LeftOut, ratio_of_sums
from pytest_t2i_mitigation.mitigated.pictures import Pictures

IMAGE, SSIM, DENOISING = SPACES = ("image", "ssim", "denoising")
"""Features of the run's encoder, structural similarity of pixels (SSIM), and final latents (z0)."""
METHOD = "paired by seed, Welch or Hall"
FEWEST = 4
"""The smallest number of pictures of a prompt for the jackknife."""


@dataclass(frozen=True)
class Gaps:
    """The gap of each picture: similarity to the feminine minus to the masculine one."""

    plain: tuple[np.ndarray, ...]
    """One array per prompt, [n_seeds] each."""
    mitigated: tuple[np.ndarray, ...]
    """The same seeds in the same order."""


def gaps(members: Sequence[Pictures], space: str) -> Gaps | None:
    """Return the gaps of all prompts with two seeds of which all four pictures show the space."""
    pairs = [pair for member in members if (pair := _gaps_of(member, space)) is not None]
    return Gaps(*map(tuple, zip(*pairs, strict=True))) if pairs else None


def _gaps_of(member: Pictures, space: str) -> tuple[np.ndarray, np.ndarray] | None:
    neutral, feminine, masculine = member.triplet
    wanted = [
        (member.plain, neutral),
        (member.mitigated, neutral),
        (member.mitigated, feminine),
        (member.mitigated, masculine),
    ]
    alike = COMPARE[space]
    points = [_points(member, seen, prompt, space) for seen, prompt in wanted]
    rows = [
        (alike(plain, woman) - alike(plain, man), alike(after, woman) - alike(after, man))
        for plain, after, woman, man in zip(*points, strict=True)
        if all(point is not None for point in (plain, after, woman, man))
    ]
    if len(rows) < 2:  # noqa: PLR2004 - a spread
        return None
    before, after = np.array(rows, dtype=np.float64).T
    return before, after


def _points(member: Pictures, observations: Any, prompt: Prompt, space: str) -> Sequence[Any]:
    if space == SSIM:
        pictures = observations.pictures(prompt, member.seeds)
        return [
            None if picture is None else np.asarray(picture.convert("RGB")) for picture in pictures
        ]
    encoder = observations.components.encoder(member.context.encoder)
    name = FINAL_LATENT if space == DENOISING else encoder.fingerprint
    return list(observations.arrays(prompt, member.seeds, name))


def _cosine(first: np.ndarray, second: np.ndarray) -> float:
    return metrics.similarity(np.ravel(first)[None, :], np.ravel(second)[None, :])


COMPARE: dict[str, Callable[[Any, Any], float]] = {
    IMAGE: _cosine,
    DENOISING: _cosine,
    SSIM: metrics.ssim,
}
"""Space -> similarity of two of its points."""


def distance(values: Sequence[np.ndarray], level: float) -> Interval:
    """Return the bias distance |mean| (eq. 4.26) with an interval.

    The interval is that of the mean, folded at 0: it covers at least as often.

    >>> print(distance([np.array([-0.1, -0.3]), np.array([-0.2, -0.4])], 0.95))
    0.250 [0.000, 0.554]
    """
    mean = gap_interval(values, level=level)
    low, high = sorted((abs(mean.low), abs(mean.high)))
    least = 0.0 if mean.low <= 0.0 <= mean.high else low
    return Interval(abs(mean.estimate), least, high, level, METHOD, sum(map(len, values)))


FEWEST_PAIRS = 80
"""Fewest pairs of pictures whose mean is judged: of four, a limit at the truth failed in 66 %."""
FURTHEST = 2.0
"""Largest absolute bias mitigation score."""


def mitigation_score(pairs: Gaps, level: float) -> Interval:
    """Return the bias mitigation score B (eq. 4.27) with an interval, paired by seed.

    For signs u and v of the two means, B is the mean of u times the plain gaps minus v times the
    mitigated ones. Where the sign of a mean is not known at this level, both signs count, and the
    interval reaches from the lowest to the highest end. Of fewer than 80 pairs it is the whole
    range: they may hide rare ones that lie far off.

    >>> even = Gaps((np.array([0.2, 0.4, 0.3]),), (np.array([0.1, -0.1, 0.0]),))
    >>> mitigation_score(even, 0.95).estimate
    0.3
    """
    signs = [_signs(gap_interval(side, level=level)) for side in (pairs.plain, pairs.mitigated)]
    ends = [
        gap_interval(
            [u * a - v * b for a, b in zip(pairs.plain, pairs.mitigated, strict=True)], level=level
        )
        for u, v in product(*signs)
    ]
    before, after = (
        abs(float(np.mean([gap.mean() for gap in side]))) for side in (pairs.plain, pairs.mitigated)
    )
    low, high = min(end.low for end in ends), max(end.high for end in ends)
    images = sum(map(len, pairs.plain))
    if images < FEWEST_PAIRS:
        low, high = -FURTHEST, FURTHEST
    return Interval(round(before - after, 12), low, high, level, METHOD, images)


def _signs(mean: Interval) -> tuple[int, ...]:
    return tuple(
        sign for sign, is_open in ((-1, mean.low <= 0.0), (1, mean.high >= 0.0)) if is_open
    )


def frechet(members: Sequence[Pictures]) -> float | None:
    """Return the Frechet distance of mitigated from plain pictures (eq. 4.32); None with too few.

    Features are those of the run's encoder, of unit length.
    """
    rows = [member.rows for member in members if len(member.rows[0])]
    if sum(len(plain) for plain, *_ in rows) < 2:  # noqa: PLR2004 - a spread
        return None
    plain, mitigated = (np.concatenate([features_of[k] for features_of in rows]) for k in (0, 1))
    return metrics.frechet_distance(plain, mitigated)


def kernel(members: Sequence[Pictures], level: float) -> Interval | None:
    """Return the unbiased kernel distance (KID) of mitigated from plain pictures, by prompt.

    It is the mean over prompts of ``features.distance``, with a jackknife of images.
    """
    rows = [member.rows for member in members if len(member.rows[0]) >= FEWEST]
    moved = [features.distance(plain, mitigated) for plain, mitigated, *_ in rows]
    units = [LeftOut(1.0, np.ones(len(distance.without))) for distance in moved]
    return ratio_of_sums(moved, units, level) if moved else None
