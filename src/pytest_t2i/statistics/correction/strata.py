"""Prompts as strata: a labelled part of each corrects the predicted labels of all of it (PPI++)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import inputs

LEAST_LABELS = 2
"""Labels that a prompt must have to take part: one shows no spread."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """One prompt: values of its images, [n_images] each; those of people are 0 where unknown."""

    words: inputs.Floats
    """The detector's: a sign, or whether it is of a group."""
    labels: inputs.Floats
    """People's."""
    clear_words: inputs.Floats
    """1 where the detector gave a label."""
    clear_labels: inputs.Floats
    """1 where people gave one that counts."""
    known: inputs.Bools
    """Whether people labelled the image."""

    @property
    def size(self) -> int:
        """Images."""
        return len(self.words)

    @property
    def labelled(self) -> int:
        """Images that people labelled."""
        return int(self.known.sum())

    def values(self, *, clear: bool) -> tuple[inputs.Floats, inputs.Floats]:
        """People's and the detector's values of the images, or whether clear."""
        if clear:
            return self.clear_labels, self.clear_words
        return self.labels, self.words


def signs_of(words: npt.ArrayLike, labels: npt.ArrayLike, number: int) -> Stratum:
    """The stratum of signs: +1 male, -1 female, 0 not clear; labels are NaN where there is none.

    Raises ValueError: lengths differ, a sign is none, or there are fewer than LEAST_LABELS labels.
    """
    word = inputs.in_range(f"words[{number}]", words, -1.0, 1.0)
    label = np.asarray(labels, dtype=np.float64)
    inputs.same_shape(**{f"words[{number}]": word, f"labels[{number}]": label})
    known = checked_known(label, number)
    label = np.nan_to_num(label)
    return Stratum(word, label, np.abs(word), np.abs(label), known)


def checked_known(label: inputs.Floats, number: int) -> inputs.Bools:
    """Which images have a label. Raises ValueError where they are too few."""
    known = ~np.isnan(label)
    if int(known.sum()) < LEAST_LABELS:
        raise ValueError(
            f"every prompt needs {LEAST_LABELS} labels, got {int(known.sum())} in labels[{number}]"
        )
    return known


@dataclass(frozen=True, slots=True)
class Means:
    """Means of every stratum, by people's labels as far as there are any."""

    means: inputs.Floats
    power: float
    """How far the predicted labels are used, from 0 to 1."""


def estimates(strata: Sequence[Stratum], *, clear: bool) -> Means:
    """The strata's means, the labelled images' errors taken off the detector's."""
    together, spread = 0.0, 0.0
    for stratum in strata:
        y, f = (part[stratum.known] for part in stratum.values(clear=clear))
        together += float(np.sum(y * (f - f.mean())))
        spread += float(np.sum((f - f.mean()) ** 2))
    power = min(1.0, max(0.0, together / spread)) if spread else 0.0
    means = []
    for stratum in strata:
        y, f = stratum.values(clear=clear)
        means.append(float(y[stratum.known].mean() + power * (f.mean() - f[stratum.known].mean())))
    return Means(np.array(means), power)


def variances_of(
    strata: Sequence[Stratum],
    of_sign: float,
    of_clear: float,
    scores: inputs.Floats,
    clear: inputs.Floats,
) -> inputs.Floats:
    """Variance of each score, by the ratio's linearisation; none where every image is labelled."""
    variances = []
    for k, stratum in enumerate(strata):
        (s, fs), (c, fc) = stratum.values(clear=False), stratum.values(clear=True)
        errors = (s - of_sign * fs) - scores[k] * (c - of_clear * fc)
        residual = errors[stratum.known] / clear[k]
        left = 1.0 / stratum.labelled - 1.0 / stratum.size
        variances.append(float(np.var(residual, ddof=1)) * max(0.0, left))
    return np.array(variances)
