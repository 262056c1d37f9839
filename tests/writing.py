"""What another process writes into a store; a module of its own, so that it can be imported there.

(In the importlib mode the name of a test module begins with "tests", which another distribution
may own.)
"""

from __future__ import annotations

import struct
import zlib

from PIL import Image

from pytest_t2i.data import Detection, Generated, Request, Trace
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.entries import NewImage
from pytest_t2i.generation.traces import arrays_of


def new(key, colour=(10, 20, 30), refusal=None, latent=None, drawn=None):
    image = None if refusal else Image.new("RGB", (8, 8), colour)
    generated = Generated(image, Trace(final_latent=latent), refusal, drawn)
    black = colour == (0, 0, 0)
    request = Request("a prompt", 1)
    return NewImage(key, "model", request, generated, black, arrays_of(generated))


def write_many(folder, offset):
    store = Store(folder)
    for k in range(40):
        store.add_images([new(f"{offset + k:04}")])
        store.add_detections("d", {f"{offset + k:04}": Detection("male")})


def chunked(kind, content):
    checked = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checked


def png(width, height, *chunks):
    head = chunked(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    pixels = chunked(b"IDAT", zlib.compress(bytes(min(height, 99) * (3 * width + 1))))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + pixels + chunked(b"IEND", b"")


UNDECODABLE = {
    "a program": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n%%EOF",
    "a bomb": png(60_000, 60_000),
    "a long text": png(8, 8, chunked(b"zTXt", b"a\0\0" + zlib.compress(bytes(10**7)))),
    "a long profile": png(8, 8, chunked(b"iCCP", b"a\0\0" + zlib.compress(bytes(10**7)))),
    "half a chunk": png(8, 8)[:40],
    "another format": b"GIF89a\1\0\1\0\0\0\0;",
    "nothing": b"",
}
"""What no picture of a store is, whatever its checksum says."""
