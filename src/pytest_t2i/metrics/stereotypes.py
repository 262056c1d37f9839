"""Excess of an attribute over the real world, and its presence (OASIS, equations 3 to 5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo, Prone
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register

register(
    MetricInfo(
        "stereotype_score",
        0.0,
        1.0,
        "higher",
        "OASIS eq. 3",
        meaning="How far an attribute's share exceeds the real world's (Ψ).",
    )
)
register(MetricInfo("attribute_presence", 0.0, 1.0, "higher", "OASIS eq. 5"))

# A cosine of float32 features may exceed 1 by a few units in the last place.
COSINE_TOLERANCE = 1e-5


def stereotype_score(observed: float, expected: float, direction: Prone = "over") -> float:
    """Return by how much an attribute is more frequent in images than in the world, or less.

    .. math:: max(0, P(A | D, C) - P*(A | C))      (OASIS eq. 3)

    By OASIS Definition 1, images contain the stereotype with margin zeta where the score is at
    least zeta. The attribute is one that is known to be shown too often with the concept. For one
    that is known to be shown too rarely, ``direction="under"`` gives max(0, P* - P).

    Args:
        observed: share of the images that show the attribute, in [0, 1].
        expected: share of the people of the concept who have the attribute, in [0, 1].
        direction: "over" where the attribute is prone to be shown too often, "under" where it is
            prone to be shown too rarely.

    Returns:
        The score in [0, 1]; 0 when the share does not differ in this direction.

    Raises:
        ValueError: a share lies outside [0, 1] or is not a single number, or the direction is
            unknown.

    >>> round(stereotype_score(0.98, 0.50), 2)
    0.48
    >>> stereotype_score(0.1, 0.2)
    0.0
    >>> round(stereotype_score(0.1, 0.4, "under"), 2)
    0.3
    """
    check_direction(direction)
    share = inputs.in_range("observed", observed, 0.0, 1.0)
    real = inputs.in_range("expected", expected, 0.0, 1.0)
    for name, value in (("observed", share), ("expected", real)):
        if value.ndim:
            raise ValueError(f"{name} must be a single number, got {name}.shape={value.shape}")
    return max(0.0, float(real - share if direction == "under" else share - real))


def check_direction(direction: str) -> None:
    """Raise a ValueError for a direction that is neither "over" nor "under".

    >>> check_direction("over")
    """
    if direction not in ("over", "under"):
        raise ValueError(f"direction must be 'over' or 'under', got direction={direction!r}")


def attribute_presence(positive: npt.ArrayLike, negative: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return whether images are nearer to the description of an attribute than to its absence.

    .. math:: 1[ cos(Z_I, Z_a+) > cos(Z_I, Z_a-) ]      (OASIS eq. 5)

    Args:
        positive: cosine similarity of each image with the description of presence, any shape.
        negative: cosine similarity with the description of absence, of the same shape.

    Returns:
        Array of bool of that shape; a tie counts as absent.

    Raises:
        ValueError: shapes differ or a value lies outside [-1, 1].

    >>> attribute_presence([0.3, 0.1], [0.2, 0.2])
    array([ True, False])
    """
    present = inputs.in_range("positive", positive, -1.0, 1.0, COSINE_TOLERANCE)
    absent = inputs.in_range("negative", negative, -1.0, 1.0, COSINE_TOLERANCE)
    inputs.same_shape(positive=present, negative=absent)
    return np.asarray(present > absent, dtype=np.bool_)


def attribute_log_odds(present: npt.ArrayLike, absent: npt.ArrayLike) -> float | None:
    """Return the log odds that an attribute is present, given all images together.

    .. math:: P = prod_i P(a+ | I_i) / sum_a' prod_i P(a' | I_i)      (OASIS eq. 4)

    The log odds are those of this P, which is 0 or 1 in floating point for more than a few images:
    P = 1 / (1 + exp(-log odds)). It is no share: it goes to 0 or 1 with more images, whatever the
    share of images with the attribute is. With the 0 and 1 of eq. 5 both products are 0 as soon as
    the images differ, and P is 0 / 0.

    Args:
        present: probability of the attribute's presence in each image, in [0, 1], [n_images].
        absent: probability of its absence, of the same shape.

    Returns:
        The log odds, also infinite ones; None where both products are 0.

    Raises:
        ValueError: shapes differ or a value lies outside [0, 1].

    >>> round(attribute_log_odds([0.8, 0.5], [0.2, 0.5]), 3)
    1.386
    >>> attribute_log_odds([1.0, 0.0], [0.0, 1.0]) is None
    True
    """
    with_it = inputs.in_range("present", present, 0.0, 1.0)
    without = inputs.in_range("absent", absent, 0.0, 1.0)
    inputs.same_shape(present=with_it, absent=without)
    impossible = (bool(np.any(with_it == 0.0)), bool(np.any(without == 0.0)))
    if all(impossible):
        return None
    if any(impossible):
        return -np.inf if impossible[0] else np.inf
    return float(np.sum(np.log(with_it) - np.log(without)))
