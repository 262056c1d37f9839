"""What undetected images could do to a score, whatever they show."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Bounds
from pytest_t2i.metrics import inputs


def worst_case_bounds(
    male: npt.ArrayLike, female: npt.ArrayLike, undetected: npt.ArrayLike
) -> Bounds:
    """Bounds on the score of these images if each undetected one showed a man, a woman or no one.

    For one prompt with counts m, f, u (numbers), on the prompt bias score:

    .. math:: [(m - f - u) / (m + f + u), (m - f + u) / (m + f + u)]

    reached when all undetected images show a woman, and when all show a man. For several prompts
    (arrays), on the model bias score:

    .. math:: mean of [max(0, |m - f| - u) / (m + f + u), (|m - f| + u) / (m + f + u)]

    over the prompts that have an image, clear or not. No assumption is made about why an image
    is undetected (Manski 1989), and chance plays no part: these bounds are about the images that
    were made, an interval is about the model.

    Args:
        male: clear male images, a number or [n_prompts].
        female: clear female images, alike.
        undetected: images without a label, alike.

    Returns:
        Bounds in [-1, 1] for a prompt, in [0, 1] for several; with the undetected share.

    Raises:
        ValueError: shapes differ or have more than one dimension, a count is no whole number, or
            there is no image at all.

    >>> worst_case_bounds(12, 4, 4)
    Bounds(low=0.2, high=0.6, undetected=0.2)
    >>> worst_case_bounds([20, 12], [0, 4], [0, 4])
    Bounds(low=0.6, high=0.8, undetected=0.1)
    """
    counts = {
        "male": inputs.whole_counts("male", male),
        "female": inputs.whole_counts("female", female),
        "undetected": inputs.whole_counts("undetected", undetected),
    }
    inputs.same_shape(**counts)
    men, women, unknown = counts.values()
    images = men + women + unknown
    if not np.any(images):
        raise ValueError("male, female and undetected hold no image at all")
    share = float(unknown.sum() / images.sum())
    if men.ndim == 0:
        gap = men - women
        return Bounds(float((gap - unknown) / images), float((gap + unknown) / images), share)
    inputs.one_dimensional(**counts)
    used = images > 0
    gap, unknown, images = np.abs(men - women)[used], unknown[used], images[used]
    low = np.mean(np.maximum(gap - unknown, 0) / images)
    return Bounds(float(low), float(np.mean((gap + unknown) / images)), share)
