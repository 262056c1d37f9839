"""Inference on the model bias score of *these* prompts: images vary, words do not.

Two kinds of evidence hold for any distribution of bias over the prompts
(docs/decisions/0007-fixed-words.md):

- identical prompts: the exact distribution of the paper's score where all prompts share one
  ``|2p - 1|``. For the null hypothesis "the score is at least the bound" this is the least
  favourable distribution (Jensen).
- bounding functions: means of c(counts) with ``E c <= |2p - 1|`` or ``E c >= |2p - 1|``, and the
  sampling error of images within prompts. They rest on a normal or Student approximation, which
  needs a few prompts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import scipy

from pytest_t2i.statistics.model.bounding import Bounding, Side, bounding_function, plug_in_function
from pytest_t2i.statistics.model.deconvolution import Whole
from pytest_t2i.statistics.model.fair_floor import expected_score
from pytest_t2i.statistics.model.identical_prompts import (
    Sizes,
    alike,
    least_favourable,
    score_tails,
    sizes_of,
)

Words = Literal["fixed", "sample"]
"""The population of a score: "fixed" for these prompts, "sample" for words like these."""

ENOUGH_PROMPTS = 10
"""Fewest prompts for the bounding function from above. The sum over fewer prompts is too far from
normal: the end was too low in 4 to 23 % of runs instead of 2.5 %, and the exact end is available.
The same number of prompts must have images of both genders: where 29 of 30 had images of one gender
only, one fair prompt decided, and a limit at the truth passed in 32 % of runs
(tests/simulations/near_one.md)."""
TOO_EVEN = 0.1
"""Probability under a fair model below which more even counts give no further evidence: else luck
alone would end an interval at 0."""
TWO_WAYS = 1.2
"""Factor of the smaller of the two p-values from below. Their errors mostly coincide: without the
factor, 7 % of verdicts at 5 % were wrong at worst (all prompts at 0.2), not 10 %."""
TOO_UNLIKELY = 1e-6
"""Probability of counts so even that no fair model explains them; they count as a fair model's."""
SMALLEST_ERROR = 1e-12
"""Smallest standard error that divides; where all counts agree the error is 0."""


SIDES: dict[Side, float] = {"below": 0.0, "above": 1.0}
"""Side of the true bias -> the bias on this side that any prompt has at the least, or at most."""


class Mean(NamedTuple):
    """The mean over prompts of a function of the counts, and its standard error within prompts."""

    value: float
    error: float

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value against "the expectation is at most the bound"."""
        return float(scipy.special.ndtr((bound - self.value) / max(self.error, SMALLEST_ERROR)))


@dataclass(frozen=True, slots=True)
class FixedWords:
    """The evidence in the counts of fixed prompts, each with a clear image."""

    sizes: Sizes
    score: float
    """The paper's score."""
    below: Mean
    """Mean of the bounding functions from below."""
    above: Mean
    plug_in: Mean
    """Mean of the paper's score itself; the paper's estimator targets its expectation."""
    even: float
    """Probability that a fair model shows at most this score."""
    mixed: int
    """Number of prompts with images of both genders."""

    @classmethod
    def of(cls, men: Whole, women: Whole) -> FixedWords:
        """Build the evidence from counts, [n_prompts], where every prompt has an image.

        >>> round(FixedWords.of(np.array([20, 0]), np.array([0, 20])).score, 3)
        1.0
        """
        clear, rarer = men + women, np.minimum(men, women)
        sizes, prompts = sizes_of(clear), len(clear)
        seen = {n: rarer[clear == n] for n in sizes.images}
        least = fewest_images(sizes)
        below, above = (
            _mean(
                {n: some for n, some in seen.items() if n >= least},
                partial(bounding_function, prompts=prompts, side=side),
                [extreme] * int(np.count_nonzero(clear < least)),
            )
            for side, extreme in SIDES.items()
        )
        plug_in = _mean(seen, plug_in_function)
        even = score_tails(sizes, alike(sizes, 0.0), plug_in.value).below
        mixed = int(np.count_nonzero(rarer[clear >= least]))
        return cls(sizes, plug_in.value, below, above, plug_in, even, mixed)

    def p_greater(self, bound: float) -> float:
        """Return the p-value against "the model bias score is at most the bound".

        The p-value increases with the bound.
        """
        exact = score_tails(self.sizes, alike(self.sizes, bound), self.score).above
        if self.sizes.total == 1:
            return exact
        return max(exact, self.below.p_above(bound))

    def p_less(self, bound: float) -> float:
        """Return the p-value against "the model bias score is at least the bound".

        The p-value decreases with the bound.
        """
        exact = max(map(self._exact_less, least_favourable(self.sizes, bound)))
        if self.sizes.total < ENOUGH_PROMPTS or self.even < TOO_EVEN:
            return exact
        if self.mixed < ENOUGH_PROMPTS:
            return min(1.0, TWO_WAYS * exact)
        # Student's distribution: the standard error of ten prompts is itself uncertain.
        error = max(self.above.error, SMALLEST_ERROR)
        student = scipy.stats.t.cdf((self.above.value - bound) / error, self.mixed - 1)
        return min(1.0, TWO_WAYS * min(exact, float(student)))

    def p_paper_greater(self, bound: float) -> float:
        """Return the p-value against "the expected paper score is at most the bound"."""
        bias = alike(self.sizes, self._bias_showing(bound))
        exact = score_tails(self.sizes, bias, self.score).above
        if self.sizes.total == 1:
            return exact
        return max(exact, self.plug_in.p_above(bound))

    def p_paper_less(self, bound: float) -> float:
        """Return the p-value against "the expected paper score is at least the bound"."""
        exact = self._exact_less(alike(self.sizes, self._bias_showing(bound)))
        if self.sizes.total == 1:
            return exact
        return max(exact, 1.0 - self.plug_in.p_above(bound))

    def _exact_less(self, bias: tuple[float, ...]) -> float:
        if self.even < TOO_UNLIKELY:
            usual = float(expected_score(self._clear, np.zeros(1))[0])
            return score_tails(self.sizes, bias, usual).below
        tail = score_tails(self.sizes, bias, self.score).below
        return min(1.0, tail * max(1.0, TOO_EVEN / self.even))

    def _bias_showing(self, score: float) -> float:
        bias = np.linspace(0.0, 1.0, 201)
        return float(np.interp(score, expected_score(self._clear, bias), bias))

    @property
    def _clear(self) -> Whole:
        return np.repeat(self.sizes.images, self.sizes.prompts)


def lower_end(p_greater: Callable[[float], float], error: float) -> float:
    """Return the smallest bound in [0, 1] that the p-value does not reject at the one-sided error.

    >>> round(lower_end(lambda bound: bound, 0.025), 6)
    0.025
    """
    if p_greater(0.0) > error:
        return 0.0
    if p_greater(1.0) <= error:
        return 1.0
    return float(scipy.optimize.brentq(lambda b: p_greater(b) - error, 0.0, 1.0, xtol=1e-6))


def upper_end(p_less: Callable[[float], float], error: float) -> float:
    """Return the largest bound in [0, 1] that the p-value does not reject at the one-sided error.

    >>> round(upper_end(lambda bound: 1.0 - bound, 0.025), 6)
    0.975
    """
    return 1.0 - lower_end(lambda bound: p_less(1.0 - bound), error)


def fewest_images(sizes: Sizes) -> int:
    """Return the fewest clear images of prompts that count in the means of bounding functions.

    Where few prompts have few images and the others many, the few carry all sampling error, and
    their sum is far from normal: three prompts of 2 images beside 27 of 80 failed a limit at the
    truth in 10 to 14 % of runs (5 % stated). Sampling errors are as if of
    ``(sum 1/n)^2 / sum 1/n^2`` prompts alike; prompts of the fewest images are left out until these
    are ENOUGH_PROMPTS, or else as many as they can be. The numbers of images decide, and not what
    the images show.

    >>> fewest_images(Sizes((2, 80), (3, 27))), fewest_images(Sizes((18, 20), (15, 15)))
    (80, 18)
    """
    images, prompts = np.array(sizes.images, np.float64), np.array(sizes.prompts)
    alike = [
        float((prompts[k:] / images[k:]).sum() ** 2 / (prompts[k:] / images[k:] ** 2).sum())
        for k in range(len(images))
    ]
    enough = min(ENOUGH_PROMPTS, max(alike))
    return sizes.images[next(k for k, count in enumerate(alike) if count >= enough)]


def _mean(
    seen: dict[int, Whole], function: Callable[[int], Bounding], others: Sequence[float] = ()
) -> Mean:
    """Return the mean over prompts of a function of the rarer gender's images.

    ``seen`` holds the images of the rarer gender per prompt, by the number of clear images;
    ``others`` the values of further prompts, which are certain.
    """
    prompts = sum(map(len, seen.values())) + len(others)
    total = sum(others)
    total += sum(float(np.sum(function(n).value[rarer])) for n, rarer in seen.items())
    variance = sum(float(np.sum(function(n).variance[rarer])) for n, rarer in seen.items())
    return Mean(total / prompts, math.sqrt(variance) / prompts)
