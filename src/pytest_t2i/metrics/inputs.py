"""Checks of arguments for metrics and statistics; each error names the argument and the value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.object_]


def floats(name: str, values: npt.ArrayLike) -> Floats:
    """Return an array-like as finite floats.

    >>> floats("male", [1, 2])
    array([1., 2.])
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, got {name}={values!r}") from error
    _refuse(name, array, ~np.isfinite(array), "must be finite")
    return array


def in_range(
    name: str, values: npt.ArrayLike, low: float, high: float, tolerance: float = 0.0
) -> Floats:
    """Return finite floats that lie in [low, high], up to a tolerance for rounding.

    >>> float(in_range("observed", 0.5, 0.0, 1.0))
    0.5
    """
    array = floats(name, values)
    outside = (array < low - tolerance) | (array > high + tolerance)
    _refuse(name, array, outside, f"must lie in [{low:g}, {high:g}]")
    return array


def counts(name: str, values: npt.ArrayLike) -> Floats:
    """Return finite, non-negative numbers; fractions are allowed, for weighted counts.

    >>> counts("male", [3, 0])
    array([3., 0.])
    """
    array = floats(name, values)
    _refuse(name, array, array < 0, "must not be negative")
    return array


def whole_counts(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return non-negative whole numbers, where a fraction of an image has no meaning.

    >>> whole_counts("male", [3.0, 0.0])
    array([3, 0])
    """
    array = counts(name, values)
    _refuse(name, array, array != np.floor(array), "must be whole numbers")
    return array.astype(np.int64)


def count_vectors(**counts: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], ...]:
    """Return whole counts as vectors of one length, in the order of the arguments.

    >>> count_vectors(male=[3, 0], female=[1, 2])
    (array([3, 0]), array([1, 2]))
    """
    arrays = {name: whole_counts(name, values) for name, values in counts.items()}
    one_dimensional(**arrays)
    same_shape(**arrays)
    return tuple(arrays.values())


def booleans(name: str, values: npt.ArrayLike) -> Bools:
    """Return an array of booleans; 0 and 1 are accepted, everything else raises a ValueError.

    >>> booleans("kept", [1, 0])
    array([ True, False])
    """
    array = np.asarray(values)
    if array.dtype == np.bool_:
        return array
    numbers = floats(name, values)
    _refuse(name, numbers, (numbers != 0) & (numbers != 1), "must be True or False")
    return numbers.astype(np.bool_)


def labels(name: str, values: npt.ArrayLike) -> Labels:
    """Return a one-dimensional array of labels, none of them missing.

    >>> labels("actual", ["male", "female"]).tolist()
    ['male', 'female']
    """
    array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got {name}.shape={array.shape}")
    for position, label in enumerate(array.tolist()):
        if label is None or label != label:  # noqa: PLR0124 - NaN is the value unequal to itself
            raise ValueError(f"{name} must hold a label per image, got {name}[{position}]={label}")
    return array


def same_shape(**arrays: npt.NDArray[np.generic]) -> None:
    """Raise a ValueError for arrays of different shapes.

    >>> same_shape(male=np.zeros(2), female=np.zeros(2))
    """
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) > 1:
        listing = ", ".join(f"{name}.shape={shape}" for name, shape in shapes.items())
        raise ValueError(f"arguments must have the same shape, got {listing}")


def one_dimensional(**arrays: npt.NDArray[np.generic]) -> None:
    """Raise a ValueError for arrays that are not vectors.

    >>> one_dimensional(male=np.zeros(2))
    """
    for name, array in arrays.items():
        if array.ndim != 1:
            raise ValueError(f"{name} must be one-dimensional, got {name}.shape={array.shape}")


def not_empty(**arrays: npt.NDArray[np.generic]) -> None:
    """Raise a ValueError for arrays without elements.

    >>> not_empty(male=np.zeros(2))
    """
    for name, array in arrays.items():
        if array.size == 0:
            raise ValueError(f"{name} must not be empty, got {name}.shape={array.shape}")


def _refuse(name: str, array: Floats, wrong: Bools, rule: str) -> None:
    if not np.any(wrong):
        return
    if array.ndim == 0:
        raise ValueError(f"{name} {rule}, got {name}={array.item():g}")
    position = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = ", ".join(map(str, position))
    raise ValueError(f"{name} {rule}, got {name}[{place}]={array[position]:g}")
