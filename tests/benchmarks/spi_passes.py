"""What SPI costs beside the extra passes that it needs: a ratio against a bare loop of them.

python tests/benchmarks/spi_passes.py MODEL_FOLDER [IMAGES]
"""

from __future__ import annotations

import sys
import time

import torch

from pytest_t2i.adapters.models.diffusers import load
from pytest_t2i.adapters.models.velocity import ROWS, network
from pytest_t2i.data import VELOCITY, Attribute, GenerationSettings, Request
from pytest_t2i.protocols import LoadOptions

ATTRIBUTES = tuple(
    Attribute(name, f"a photo of a person with a {name}", "a photo of a person")
    for name in ("hat", "beard", "turban", "cup", "book")
)
TURNS = 3
SETTINGS = GenerationSettings(steps=10, guidance=1.0, width=128, height=128)


def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def main(folder, images):
    model = load(LoadOptions(source=folder, device="cpu", dtype="float32"))
    plain = [Request("a photo of a person", seed, SETTINGS) for seed in range(images)]
    watched = [
        Request(r.prompt, r.seed, r.settings, frozenset({VELOCITY}), ATTRIBUTES) for r in plain
    ]
    unet = network(model.pipeline)
    texts = list(dict.fromkeys(t for a in ATTRIBUTES for t in (a.positive, a.negative)))
    at_once = max(1, ROWS // images)
    embeds = [
        model._texts.arguments([t for t in texts[k : k + at_once] for _ in range(images)], None)
        for k in range(0, len(texts), at_once)
    ]
    latents = torch.randn(images, 4, 16, 16)

    def bare():
        with torch.no_grad():
            for step in range(SETTINGS.steps):
                for part in embeds:
                    rows = len(part["prompt_embeds"]) // images
                    unet(latents.repeat(rows, 1, 1, 1), 100 * step + 50, part["prompt_embeds"])

    model.generate(plain)
    times = [(seconds(lambda: model.generate(plain)), seconds(bare),
              seconds(lambda: model.generate(watched))) for _ in range(TURNS)]  # fmt: skip
    made, passes, seen = (min(column) for column in zip(*times, strict=True))
    print(f"{images} images, {len(texts)} descriptions: making {made:.2f} s, bare passes")
    print(f"{passes:.2f} s, with SPI {seen:.2f} s, extra / passes = {(seen - made) / passes:.3f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 16)
