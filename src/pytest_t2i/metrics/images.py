"""Similarity of two pictures, pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# scikit-image's default window; a smaller picture has no full window.
WINDOW = 7


def ssim(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Structural similarity of two pictures, averaged over all pixels and channels.

    .. math:: SSIM of Wang et al. 2004 (Wu section 4.1, "SSIM")

    Args:
        a: RGB picture, [height, width, 3] of uint8, at least 7 pixels a side.
        b: the other picture, same shape.

    Returns:
        The similarity in [-1, 1]; 1 for equal pictures.

    Raises:
        ValueError: not RGB uint8, too small, or shapes differ.

    >>> grey = np.full((8, 8, 3), 128, dtype=np.uint8)
    >>> ssim(grey, grey)
    1.0
    """
    # Imported here: it costs half a second that no other metric should pay.
    from skimage.metrics import structural_similarity

    first, second = _picture("a", a), _picture("b", b)
    if first.shape != second.shape:
        raise ValueError(f"a and b must have the same shape, got {first.shape} and {second.shape}")
    measure: Any = structural_similarity
    return float(measure(first, second, channel_axis=-1, data_range=255))


def _picture(name: str, values: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    array = np.asarray(values)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[-1] != 3:  # noqa: PLR2004
        raise ValueError(
            f"{name} must be RGB, [height, width, 3] of uint8, "
            f"got {name}.shape={array.shape} of {array.dtype}"
        )
    if min(array.shape[:2]) < WINDOW:
        raise ValueError(f"{name} must be at least {WINDOW} pixels a side, got {array.shape[:2]}")
    return array.astype(np.uint8, copy=False)
