"""Time and size of a PNG by several encoders, and of the store that writes them in threads.

The store keeps Pillow's level 1. libdeflate takes a third of its time and ISA-L a seventh, but
label folders of earlier versions, whose names are hashes of files, would not recognise other bytes;
ISA-L's bytes also differ now and then between threads. So the store uses several cores.

    pip install deflate isal
    python tests/benchmarks/png.py FOLDER_OF_PICTURES
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
from PIL import Image

from pytest_t2i.data import Generated, Request
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.entries import NewImage
from pytest_t2i.generation.store.self_describing_png import PictureOrigin, encode

UP = 2
"""PNG's filter that keeps a row's difference from the row above."""
ORIGIN = PictureOrigin("key", "model", "a photo of a nurse", 1, {}, black=False)


def filtered(image: Image.Image) -> bytes:
    """Rows as the content of a PNG, each with the filter UP."""
    pixels = np.asarray(image).reshape(image.height, -1)
    rows = np.empty((image.height, pixels.shape[1] + 1), np.uint8)
    rows[:, 0] = UP
    rows[0, 1:] = pixels[0]
    np.subtract(pixels[1:], pixels[:-1], out=rows[1:, 1:])
    return rows.tobytes()


def pillow(level: int) -> Callable[[Image.Image], bytes]:
    """Pillow's encoder, which tries five filters for each row."""

    def work(image: Image.Image) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, format="PNG", compress_level=level)
        return buffer.getvalue()

    return work


def compressor(module: str, name: str) -> Callable[[Image.Image], bytes] | None:
    """A library's compression of filtered rows; None where it is not installed."""
    try:
        function = getattr(import_module(module), name)
    except ModuleNotFoundError:
        return None
    return lambda image: bytes(function(filtered(image), 1))


ENCODERS = {
    "the store's": lambda image: encode(image, ORIGIN),
    "Pillow, level 1": pillow(1),
    "Pillow, level 6": pillow(6),
    "zlib, level 1": lambda image: zlib.compress(filtered(image), 1),
    "libdeflate, level 1": compressor("deflate", "zlib_compress"),
    "ISA-L, level 1": compressor("isal.isal_zlib", "compress"),
}


def stored(images: list[Image.Image]) -> float:
    """Milliseconds by the clock for each picture that the store encodes and writes."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        new = [
            NewImage(f"{seed:064x}", "model", Request("a nurse", seed), Generated(image), False, {})
            for seed, image in enumerate(images)
        ]
        started = time.perf_counter()
        store.add_images(new)
        seconds = time.perf_counter() - started
        store.close()
    return 1000 * seconds / len(images)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="pictures; without it, noise")
    parser.add_argument("--pixels", type=int, default=1024)
    parser.add_argument("--pictures", type=int, default=16)
    options = parser.parse_args()
    size = (options.pixels, options.pixels)
    if options.folder:
        files = sorted(p for p in options.folder.iterdir() if p.suffix in {".png", ".jpg"})
        images = [Image.open(p).convert("RGB").resize(size) for p in files[: options.pictures]]
    else:
        noise = np.random.default_rng(0).normal(128, 8, (options.pictures, *size, 3))
        images = [Image.fromarray(each.clip(0, 255).astype(np.uint8)) for each in noise]
    for name, work in ENCODERS.items():
        if work is None:
            print(f"{name:22} not installed")
            continue
        started = time.process_time()
        length = sum(len(work(image)) for image in images)
        spent = 1000 * (time.process_time() - started) / len(images)
        print(f"{name:22} {spent:7.1f} ms {length / len(images) / 1000:8.0f} kB")
    print(f"stored on {os.cpu_count()} cores: {stored(images):.1f} ms a picture by the clock")


if __name__ == "__main__":
    main()
