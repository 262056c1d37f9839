"""Inference on the model bias score of words *like these*: a cluster bootstrap of prompts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.model.bounding import bounding_function
from pytest_t2i.statistics.model.deconvolution import Categories, Whole, categorise, mean_bias
from pytest_t2i.statistics.model.fair_floor import most_bias
from pytest_t2i.statistics.shares.resampling import expanded_tail, percentiles


@dataclass(frozen=True, slots=True)
class SampledWords:
    """Resampled scores of at least two prompts, from which the ends at any level are read."""

    prompts: int
    paper: inputs.Floats
    """The paper's score of each resample, [n_resamples]."""
    corrected: inputs.Floats
    """The corrected score of each resample, [n_resamples]."""
    least: inputs.Floats
    """Mean of the bounding functions from below, [n_resamples]: on average at most the truth."""
    most: inputs.Floats
    """Score of equally biased prompts with the expected paper score of each resample (Jensen),
    [n_resamples]."""

    @classmethod
    def of(cls, men: Whole, women: Whole, *, seed: int, resamples: int) -> SampledWords:
        """Resample prompts and one pseudo-prompt, even or one-sided with equal probability.

        Without the pseudo-prompt, prompts that all agree would have an interval of width zero.

        >>> SampledWords.of(np.array([9, 1]), np.array([1, 9]), seed=0, resamples=100).prompts
        2
        """
        prompts = len(men)
        rng = np.random.default_rng(seed)
        categories, weights = _resampled(men, women, rng, resamples)
        paper = weights @ categories.plug_in / prompts
        chance = np.full(prompts, 1.0 / prompts)
        drawn = rng.multinomial(prompts, chance, size=resamples)
        shown = drawn @ (np.abs(men - women) / (men + women)) / prompts
        return cls(
            prompts,
            np.asarray(paper, dtype=np.float64),
            mean_bias(weights, categories.likelihood),
            np.asarray(weights @ _least(categories, prompts) / prompts, dtype=np.float64),
            most_bias(men + women, shown),
        )

    def paper_ends(self, level: float) -> tuple[float, float]:
        """Return both ends for the score expected at these numbers of images."""
        return percentiles(self.paper, expanded_tail(self.prompts, level))

    def corrected_ends(self, level: float) -> tuple[float, float]:
        """Return both ends for the true score.

        Deconvolution depends on the distribution of bias: so the low end is at most that of the
        bounding function's mean, and the high end at least what Jensen's inequality allows.
        """
        tail = expanded_tail(self.prompts, level)
        low, high = percentiles(self.corrected, tail)
        least = percentiles(self.least, tail)[0]
        most = percentiles(self.most, tail)[1]
        return max(0.0, min(low, least)), max(high, most)


def _resampled(
    men: Whole, women: Whole, rng: np.random.Generator, resamples: int
) -> tuple[Categories, inputs.Floats]:
    n = int(np.median(men + women))
    pseudo_men, pseudo_women = np.array([n - n // 2, n]), np.array([n // 2, 0])
    categories = categorise(np.append(men, pseudo_men), np.append(women, pseudo_women))
    share = np.append(np.ones(len(men)), [0.5, 0.5])
    chance = np.bincount(categories.of_prompt, weights=share)
    weights = rng.multinomial(len(men), chance / chance.sum(), size=resamples)
    return categories, weights.astype(np.float64)


def _least(categories: Categories, prompts: int) -> inputs.Floats:
    gaps = np.round(categories.plug_in * categories.images).astype(np.int64)
    return np.array(
        [
            bounding_function(n, prompts, "below").value[(n - gap) // 2]
            for n, gap in np.stack([categories.images, gaps], axis=1).tolist()
        ]
    )
