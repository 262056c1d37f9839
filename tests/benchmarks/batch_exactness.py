"""Whether an image depends on the batch it was made in: largest difference over batch sizes.

Run by hand on a real pipeline: python tests/benchmarks/batch_exactness.py --model reference
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from pytest_t2i import axes
from pytest_t2i.data import Request
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.seeds import seeds_of
from pytest_t2i.generation.store import Store
from pytest_t2i.settings import Settings

SIZES = (1, 3, 16)


def main():
    """Print the largest pixel difference and whether detections agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="reference")
    parser.add_argument("--detector", default="clip:reference")
    parser.add_argument("--images", type=int, default=48)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        components = Components(Settings(model=asked.model), Store(Path(work)))
        model = components.model().get()
        detector = components.detector(DetectorRef(asked.detector)).get()
        settings = components.defaults().defaults
        prompts = axes.profession.prompts()[: asked.images // 8]
        requests = [
            Request(prompt.text, seed, settings)
            for prompt in prompts
            for seed in seeds_of(0, prompt.text, 8)
        ]
        pixels, labels = {}, {}
        for size in SIZES:
            made = []
            for start in range(0, len(requests), size):
                made += model.generate(requests[start : start + size])
            pictures = [entry.image for entry in made]
            pixels[size] = np.stack([np.asarray(picture, dtype=np.int16) for picture in pictures])
            labels[size] = [entry.label for entry in detector.detect(pictures)]
    for size in SIZES[1:]:
        apart = np.abs(pixels[size] - pixels[SIZES[0]])
        print(
            f"batch {size} against {SIZES[0]}: largest difference {apart.max()}/255, "
            f"pixels that differ {np.mean(apart > 0):.2%}, "
            f"labels equal: {labels[size] == labels[SIZES[0]]}"
        )


if __name__ == "__main__":
    main()
