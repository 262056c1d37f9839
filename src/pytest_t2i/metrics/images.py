"""Similarity of two pictures, by pixels and by patches."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register
from pytest_t2i.metrics.similarity import similarities

register(MetricInfo("ssim", -1.0, 1.0, "lower", "Wu section 4.1"))
register(MetricInfo("diff_pix", 0.0, 100.0, "higher", "Wu section 4.1.3"))
register(MetricInfo("split_product", -1.0, 1.0, "lower", "Wu section 4.1.3"))

# scikit-image's default window; a smaller picture has no full window.
WINDOW = 7


def ssim(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Return the structural similarity of two pictures, averaged over all pixels and channels.

    .. math:: SSIM of Wang et al. 2004 (Wu section 4.1, "SSIM")

    Args:
        a: RGB picture, [height, width, 3] of uint8, at least 7 pixels a side.
        b: the other picture, of the same shape.

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


def diff_pix(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Return the percentage of pixels within the outlines of differences between two pictures.

    .. math:: 100 |inside of the contours of {SSIM map <= Otsu's threshold}| / |pixels|
       (Wu section 4.1.3, "Diff. Pix")

    Wu gives no recipe; this is the common one: both pictures are converted to grey, the map of
    their SSIM is clipped to 0..255, Otsu's threshold selects the darker side, and its outer
    contours are filled.

    Args:
        a: RGB picture, [height, width, 3] of uint8, at least 7 pixels a side.
        b: the other picture, of the same shape.

    Returns:
        The share in [0, 100]: 0 for equal pictures; higher for pictures that differ more.

    Raises:
        ValueError: not RGB uint8, too small, or shapes differ.

    >>> grey = np.full((32, 32, 3), 128, dtype=np.uint8)
    >>> other = grey.copy()
    >>> other[8:16, 8:16] = 255
    >>> diff_pix(grey, grey), 5 < diff_pix(grey, other) < 40
    (0.0, True)
    """
    from skimage.color import rgb2gray
    from skimage.filters import threshold_otsu
    from skimage.metrics import structural_similarity

    first, second = _picture("a", a), _picture("b", b)
    if first.shape != second.shape:
        raise ValueError(f"a and b must have the same shape, got {first.shape} and {second.shape}")
    measure: Any = structural_similarity
    greys = (np.round(255.0 * rgb2gray(image)) for image in (first, second))
    _, similar = measure(*greys, data_range=255.0, full=True)
    levels = np.round(255.0 * np.maximum(similar, 0.0)).astype(np.uint8)
    if levels.min() == levels.max():
        return 0.0 if levels.min() == np.iinfo(np.uint8).max else 100.0
    inside = scipy.ndimage.binary_fill_holes(levels <= threshold_otsu(levels))
    return float(100.0 * np.mean(inside))


def split_product(
    a: npt.ArrayLike, b: npt.ArrayLike, norm: Literal["patch", "joint"] = "patch"
) -> float:
    """Return the highest similarity of corresponding patches of two pictures.

    .. math:: max over patches k of cos(a_k, b_k)      (Wu section 4.1.3, "split-product")

    Args:
        a: features of one picture's patches, [n_patches, d].
        b: features of the other picture, of the same shape.
        norm: "patch" for cosines, as Wu writes; "joint" for products after all patches of a picture
            are scaled together to unit length, as in the code of Somepalli et al.

    Returns:
        The highest product in [-1, 1].

    Raises:
        ValueError: shapes differ, are empty, a patch is all zero, or norm is unknown.

    >>> split_product([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 2.0]])
    1.0
    """
    if norm not in ("patch", "joint"):
        raise ValueError(f"norm must be 'patch' or 'joint', got norm={norm!r}")
    cosines = similarities(a, b)
    if norm == "patch":
        return float(np.max(cosines))
    sides = (inputs.floats(name, values) for name, values in (("a", a), ("b", b)))
    first, second = (side.reshape(len(side), -1) for side in sides)
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    joint = np.linalg.norm(first) * np.linalg.norm(second)
    return float(np.clip(np.max(cosines * lengths / joint), -1.0, 1.0))


def _picture(name: str, values: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    array = np.asarray(values)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[-1] != 3:  # noqa: PLR2004
        raise ValueError(
            f"{name} must be RGB, [height, width, 3] of uint8, "
            f"got {name}.shape={array.shape} of {array.dtype}"
        )
    if min(array.shape[:2]) < WINDOW:
        raise ValueError(f"{name} must be at least {WINDOW} pixels a side, got {array.shape[:2]}")
    return array
