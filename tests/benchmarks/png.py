"""Time and size of a PNG by several encoders, and of the store that writes them in threads.

The store keeps Pillow's level 1. libdeflate takes a third of its time and ISA-L a seventh, but
each is one more dependency, and ISA-L's bytes differ now and then between threads. Without one,
rows that numpy filters and zlib compresses take three fifths. Labelled pictures are recognised by
the bytes of their files, also where a run makes them anew, and would not be with other bytes. So
the store uses several cores.

    pip install deflate isal
    python tests/benchmarks/png.py FOLDER_OF_PICTURES
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
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


def pillow(level: int, strategy: int = -1) -> Callable[[Image.Image], bytes]:
    """Pillow's encoder, which tries five filters for each row; -1 is its own strategy of zlib."""

    def work(image: Image.Image) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, format="PNG", compress_level=level, compress_type=strategy)
        return buffer.getvalue()

    return work


def runs_alone(image: Image.Image) -> bytes:
    """Filtered rows, of which zlib looks for runs of equal bytes alone."""
    work = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)
    return work.compress(filtered(image)) + work.flush()


def opencv(image: Image.Image) -> bytes:
    """OpenCV's encoder with the same filter."""
    import cv2

    how = [cv2.IMWRITE_PNG_COMPRESSION, 1, cv2.IMWRITE_PNG_FILTER, cv2.IMWRITE_PNG_FILTER_UP]
    return bytes(cv2.imencode(".png", np.asarray(image)[:, :, ::-1], how)[1])


def compressor(module: str, name: str) -> Callable[[Image.Image], bytes] | None:
    """A library's compression of filtered rows; None where it is not installed."""
    try:
        function = getattr(import_module(module), name)
    except ModuleNotFoundError:
        return None
    return lambda image: bytes(function(filtered(image), 1))


def cv2_of() -> object:
    """OpenCV; None where it is not installed."""
    try:
        return import_module("cv2")
    except ModuleNotFoundError:
        return None


ENCODERS = {
    "the store's": lambda image: encode(image, ORIGIN),
    "Pillow, level 1": pillow(1),
    "Pillow, runs alone": pillow(1, zlib.Z_RLE),
    "Pillow, Huffman alone": pillow(1, zlib.Z_HUFFMAN_ONLY),
    "Pillow, level 6": pillow(6),
    "zlib, level 1": lambda image: zlib.compress(filtered(image), 1),
    "zlib, runs alone": runs_alone,
    "OpenCV, level 1": opencv if hasattr(cv2_of(), "IMWRITE_PNG_FILTER") else None,
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
        files = sorted(p for p in options.folder.rglob("*") if p.suffix in {".png", ".jpg"})
        images = [Image.open(p).convert("RGB").resize(size) for p in files[: options.pictures]]
    else:
        noise = np.random.default_rng(0).normal(128, 8, (options.pictures, *size, 3))
        images = [Image.fromarray(each.clip(0, 255).astype(np.uint8)) for each in noise]
    for name, work in ENCODERS.items():
        if work is None:
            print(f"{name:22} not installed")
            continue
        length, spents = 0, []
        for image in images:
            started = time.process_time()
            length += len(work(image))
            spents.append(time.process_time() - started)
        spent = 1000 * statistics.median(spents)
        print(f"{name:22} {spent:7.1f} ms {length / len(images) / 1000:8.0f} kB")
    print(f"stored on {os.cpu_count()} cores: {stored(images):.1f} ms a picture by the clock")


if __name__ == "__main__":
    main()
