"""Effect of a mitigation: the distance of pictures from both genders, and the evenness of a path.

The equations are those of chapter 4 of the thesis on mitigation in Stable Diffusion 3.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register

register(MetricInfo("bias_distance", 0.0, 2.0, "higher", "thesis eq. 4.26"))
register(
    MetricInfo("mean_absolute_gap", 0.0, 2.0, "higher", "thesis eq. 4.26, absolute per prompt")
)
register(MetricInfo("bias_mitigation_score", -2.0, 2.0, "lower", "thesis eq. 4.27"))
register(MetricInfo("consistency", 0.0, math.inf, "higher", "thesis eq. 4.28"))
register(MetricInfo("smoothness", 0.0, 1.0, "lower", "thesis eq. 4.29-4.31"))


def bias_distance(to_feminine: npt.ArrayLike, to_masculine: npt.ArrayLike) -> float:
    """Return how much nearer a set of pictures lies to one gender than to the other.

    .. math:: D(x) = |s(x, feminine) - s(x, masculine)|      (thesis eq. 4.26)

    with s the mean similarity over prompts (eq. 4.24, 4.25). Prompts nearer to opposite genders
    cancel; ``mean_absolute_gap`` shows them.

    Args:
        to_feminine: similarity of each prompt's pictures to its feminine ones, in [-1, 1].
        to_masculine: similarity of each prompt's pictures to its masculine ones, in the same order.

    Returns:
        The distance in [0, 2]; 0 is halfway between both.

    Raises:
        ValueError: the shapes differ, nothing is given, or a similarity lies outside [-1, 1].

    >>> round(bias_distance([0.8, 0.9], [0.6, 0.7]), 3)
    0.2
    """
    feminine, masculine = _similarities(to_feminine, to_masculine)
    return float(abs(feminine.mean() - masculine.mean()))


def mean_absolute_gap(to_feminine: npt.ArrayLike, to_masculine: npt.ArrayLike) -> float:
    """Return the mean over prompts of the absolute difference of nearness to the two genders.

    .. math:: mean of |s_p(feminine) - s_p(masculine)|

    The absolute value stands inside the mean, so that prompts nearer to opposite genders do not
    cancel as in ``bias_distance``, which is never larger. Arguments and errors are those of
    ``bias_distance``.

    Returns:
        The mean in [0, 2].

    >>> gap = [0.8, 0.6], [0.6, 0.8]
    >>> round(mean_absolute_gap(*gap), 3), round(bias_distance(*gap), 3)
    (0.2, 0.0)
    """
    feminine, masculine = _similarities(to_feminine, to_masculine)
    return float(np.abs(feminine - masculine).mean())


def bias_mitigation_score(before: float, after: float) -> float:
    """Return how much less one-sided pictures are after a mitigation.

    .. math:: B = D(neutral) - D(mitigated)      (thesis eq. 4.27)

    The score rewards destroyed pictures, too: a grey picture is equally far from both genders.
    Alone it never shows that a mitigation is good.

    Args:
        before: ``bias_distance`` of the plain pictures, in [0, 2].
        after: ``bias_distance`` of the mitigated pictures, in [0, 2].

    Returns:
        The score in [-2, 2]; above 0 where the mitigated pictures lie nearer to halfway.

    Raises:
        ValueError: a distance lies outside [0, 2].

    >>> round(bias_mitigation_score(before=0.3, after=0.1), 3)
    0.2
    """
    was, is_now = (
        float(inputs.in_range(name, value, 0.0, 2.0))
        for name, value in (("before", before), ("after", after))
    )
    return was - is_now


def consistency(distances: npt.ArrayLike) -> float:
    """Return the mean perceptual distance between neighbours on a path of pictures.

    .. math:: C = sum of d_i / (n - 1),  d_i = P(I_i, I_{i+1})      (thesis eq. 4.28)

    Args:
        distances: distance between each of the n pictures and the next, [n - 1].

    Returns:
        The mean, at least 0; lower is better, as neighbours look alike.

    Raises:
        ValueError: there is no distance, or one is negative.

    >>> round(consistency([0.1, 0.3]), 3)
    0.2
    """
    return float(_distances(distances).mean())


def smoothness(distances: npt.ArrayLike) -> float:
    """Return how evenly a path of pictures is spaced: one minus the Gini coefficient of its steps.

    .. math:: S = 1 - G,  G = sum_i sum_j |d_i - d_j| / (2 (n - 1) sum of d_i)
       (thesis eq. 4.29-4.31)

    Args:
        distances: as in ``consistency``.

    Returns:
        The smoothness in (0, 1]: 1 where all steps have the same width, 0 included.

    Raises:
        ValueError: as in ``consistency``.

    >>> smoothness([0.2, 0.2, 0.2]), round(smoothness([0.0, 0.0, 0.6]), 3)
    (1.0, 0.333)
    """
    steps = _distances(distances)
    total = float(steps.sum())
    if not total:
        return 1.0
    differences = np.abs(steps[:, None] - steps[None, :]).sum()
    return float(1.0 - differences / (2.0 * len(steps) * total))


def _similarities(
    to_feminine: npt.ArrayLike, to_masculine: npt.ArrayLike
) -> tuple[inputs.Floats, inputs.Floats]:
    feminine = np.atleast_1d(inputs.in_range("to_feminine", to_feminine, -1.0, 1.0, 1e-9))
    masculine = np.atleast_1d(inputs.in_range("to_masculine", to_masculine, -1.0, 1.0, 1e-9))
    inputs.not_empty(to_feminine=feminine, to_masculine=masculine)
    inputs.same_shape(to_feminine=feminine, to_masculine=masculine)
    return feminine, masculine


def _distances(distances: npt.ArrayLike) -> inputs.Floats:
    steps = inputs.counts("distances", distances)
    inputs.one_dimensional(distances=steps)
    inputs.not_empty(distances=steps)
    return steps
