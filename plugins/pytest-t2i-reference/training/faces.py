"""How many faces two common detectors find. They are optional: without them the rates are left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def face_rates(images: NDArray[np.uint8]) -> dict[str, float]:
    """Share of pictures [n, h, w, 3] with at least one face, by detector."""
    rates = {}
    for name, rate in (("faces found by dlib HOG", _hog), ("faces found by MTCNN", _mtcnn)):
        try:
            rates[name] = round(rate(images), 4)
        except ImportError:
            continue
    return rates


def _hog(images: NDArray[np.uint8]) -> float:
    import dlib

    detector = dlib.get_frontal_face_detector()
    return float(np.mean([len(detector(np.ascontiguousarray(image), 1)) > 0 for image in images]))


def _mtcnn(images: NDArray[np.uint8]) -> float:
    from facenet_pytorch import MTCNN
    from PIL import Image

    detector = MTCNN(keep_all=True, device="cpu", min_face_size=20)
    found = [detector.detect(Image.fromarray(image).resize((256, 256)))[0] is not None for image in images]
    return float(np.mean(found))
