"""The denoising step at which an attribute appears (OASIS, equations 9 to 11)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register
from pytest_t2i.metrics.vectors import unit

register(MetricInfo("spi", -1.0, 1.0, "higher", "OASIS eq. 10-11"))
register(MetricInfo("centred_spi", -math.inf, math.inf, "higher", "OASIS eq. 9-10, ours"))


def spi(velocity: npt.ArrayLike, positive: npt.ArrayLike, negative: npt.ArrayLike) -> inputs.Floats:
    """Return the stereotype propagation index: how much each denoising step adds an attribute.

    .. math:: cos(v_t, v_t^+ - v_t^-)      (OASIS eq. 10-11)

    All three are velocities of one latent at one time: for the prompt, for the description of the
    attribute's presence and for that of its absence, in one sign convention. Above 0 the step moves
    the image towards the attribute; exchanging the descriptions changes the sign. A component that
    all three share (a person in the middle, a dark ground) is part of v_t and may have an offset
    along the difference; ``centred_spi`` has no such offset.

    Args:
        velocity: velocities for the prompt, [n_steps, ...]; further axes are flattened.
        positive: velocities for the description of presence, d+, of the same shape.
        negative: velocities for the description of absence, d-, of the same shape.

    Returns:
        Array of n_steps values in [-1, 1].

    Raises:
        ValueError: shapes differ or are empty, a velocity is zero, or d+ and d- have equal ones.

    >>> spi([[1.0, 0.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]])
    array([ 1., -1.])
    """
    moved, toward, away = _three(velocity, positive, negative)
    directions = _directions(toward, away)
    cosines = [unit(f"velocity[{t}]", moved[t].ravel()) @ toward for t, toward in directions]
    return np.asarray(np.clip(cosines, -1.0, 1.0), dtype=np.float64)


def centred_spi(
    velocity: npt.ArrayLike, positive: npt.ArrayLike, negative: npt.ArrayLike
) -> inputs.Floats:
    """Return the position of each denoising step between an attribute's absence and presence.

    .. math:: (v_t - (v_t^+ + v_t^-) / 2) . (v_t^+ - v_t^-) / (|v_t^+ - v_t^-|^2 / 2)      (ours)

    The velocities are those of ``spi``. The value is -1 at the velocity of absence, 1 at that of
    presence, 0 halfway, and above 0 exactly where v_t is nearer to v_t^+ than to v_t^-. A component
    that all three share cancels.

    At pure noise, the velocity of a flow points to the mean of all images of a text. Where the
    descriptions are the prompt with and without the attribute, the prompt's mean lies between
    theirs, at 2 P(A) - 1. Where the descriptions differ from the prompt in more, the mean may lie
    beyond them, and so may a later step, which depends on the image that it will show.

    Args:
        velocity: velocities for the prompt, [n_steps, ...]; further axes are flattened.
        positive: velocities for the description of presence, d+, of the same shape.
        negative: velocities for the description of absence, d-, of the same shape.

    Returns:
        Array of n_steps values, without bounds.

    Raises:
        ValueError: shapes differ or are empty, or d+ and d- have equal velocities at a step.

    >>> centred_spi([[4.0, 1.0], [2.5, 0.0]], [[4.0, 0.0]] * 2, [[2.0, 0.0]] * 2)
    array([ 1. , -0.5])
    """
    moved, toward, away = _three(velocity, positive, negative)
    beyond, apart = moved - (toward + away) / 2, toward - away
    return np.array(
        [
            2 * (beyond[t].ravel() @ direction) / np.linalg.norm(apart[t])
            for t, direction in _directions(toward, away)
        ]
    )


def _three(
    velocity: npt.ArrayLike, positive: npt.ArrayLike, negative: npt.ArrayLike
) -> tuple[inputs.Floats, inputs.Floats, inputs.Floats]:
    moved = inputs.floats("velocity", velocity)
    toward, away = inputs.floats("positive", positive), inputs.floats("negative", negative)
    inputs.same_shape(velocity=moved, positive=toward, negative=away)
    if moved.ndim < 2 or not moved.size:  # noqa: PLR2004 - steps, and a latent for each
        raise ValueError(f"velocity must hold a latent per step, got velocity.shape={moved.shape}")
    return moved, toward, away


def _directions(toward: inputs.Floats, away: inputs.Floats) -> Iterator[tuple[int, inputs.Floats]]:
    """Yield each step with its unit direction from absence to presence."""
    for step, apart in enumerate(toward - away):
        yield step, unit(f"positive[{step}] - negative[{step}]", apart.ravel())
