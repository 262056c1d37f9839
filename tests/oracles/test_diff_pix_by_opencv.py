"""Diff. Pix beside the recipe that is usually typed with OpenCV: SSIM, Otsu, filled contours."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.metrics import structural_similarity

from pytest_t2i.metrics import diff_pix

cv2 = pytest.importorskip("cv2")


def by_opencv(first, second, *, clipped):
    """In per cent; as it is usually typed, negative similarities wrap around to likeness."""
    greys = (cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) for picture in (first, second))
    _, similar = structural_similarity(*greys, full=True)
    levels = (np.maximum(similar, 0.0) if clipped else similar) * 255
    how = cv2.THRESH_BINARY_INV | cv2.THRESH_OTSU
    dark = cv2.threshold(levels.astype(np.int64).astype(np.uint8), 0, 255, how)[1]
    contours, _ = cv2.findContours(dark, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    inside = np.zeros(dark.shape, np.uint8)
    cv2.drawContours(inside, contours, -1, 255, -1)
    return 100.0 * float(np.mean(inside > 0))


@pytest.mark.parametrize("seed", range(3))
def test_noise_differs_by_how_outlines_close(seed):
    rng = np.random.default_rng(seed)
    pair = [rng.integers(0, 256, (64, 64, 3), dtype=np.uint8) for _ in range(2)]
    # OpenCV walks outlines of eight neighbours; here a hole is closed by four.
    assert diff_pix(*pair) == pytest.approx(by_opencv(*pair, clipped=True), abs=1.5)
    assert diff_pix(*pair) > by_opencv(*pair, clipped=False) + 10


def test_pictures_with_a_patch_that_differs_agree():
    rng = np.random.default_rng(0)
    first = np.full((128, 128, 3), 128.0)
    second = first.copy()
    second[30:60, 40:90] = 220.0
    noisy = [
        np.clip(p + rng.normal(0, 5, p.shape), 0, 255).astype(np.uint8) for p in (first, second)
    ]
    found = diff_pix(*noisy)
    assert found == pytest.approx(by_opencv(*noisy, clipped=True), abs=0.3)
    assert found == pytest.approx(by_opencv(*noisy, clipped=False), abs=0.3)
    assert found == pytest.approx(12.3, abs=0.3)
