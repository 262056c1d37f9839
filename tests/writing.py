"""What another process writes into a store; a module of its own, so that it can be imported there.

(In the importlib mode the name of a test module begins with "tests", which another distribution
may own.)
"""

from __future__ import annotations

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
