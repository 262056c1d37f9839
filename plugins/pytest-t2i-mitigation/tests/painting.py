"""A world that costs nothing: a painter, a detector, an object detector and an encoder; and shams.

A picture has four quarters: whose it is by its colour, what the prompt says, what is worn, and what
the seed alone draws. Prompts that name a gender are obeyed; neutral ones show men or women in nine
of ten pictures.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter
from pytest_t2i import Box, Detection, FoundObject, Generated, Undetected

BLUE, RED = (40, 60, 200), (200, 60, 40)
WORN = {"beard": (60, 40, 20), "dress": (230, 210, 60)}
GENDERED = re.compile(r"\b(fe)?male (?=\w)|\b(wo)?man\b")
WOMEN = ("nurse", "housekeeper")
COIN = 0.9
"""Share of one gender of a neutral prompt."""


def drawn(*words):
    digest = hashlib.sha256("|".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def colour(text):
    return tuple(hashlib.sha256(text.encode()).digest()[:3])


def concept(text):
    """What a prompt says beside a gender."""
    return GENDERED.sub(lambda found: "person" if found[0].endswith("man") else "", text)


def is_man(text, seed):
    words = set(text.split())
    if words & {"male", "man"}:
        return True
    if words & {"female", "woman"}:
        return False
    mostly = not any(word in text for word in WOMEN)
    return (drawn(text, seed, "gender") < COIN) == mostly


class PaintPipeline:
    def paint(self, text, seed):
        """One pass."""
        with Path(os.environ["PAINTED"]).open("a") as log:
            print(seed, text, file=log)
        man = is_man(text, seed)
        rng = random.Random(drawn(text, seed, "noise"))
        picture = Image.new("RGB", (16, 16))
        shade = rng.randrange(-25, 26)
        whose = BLUE if man else RED
        picture.paste(tuple(value + shade for value in whose), (0, 0, 8, 8))
        picture.paste(colour(concept(text)), (8, 0, 16, 8))
        picture.paste(WORN["beard" if man else "dress"], (0, 8, 8, 16))
        for x in (8, 12):
            for y in (8, 12):
                hue = tuple(rng.randrange(256) for _ in range(3))
                picture.paste(hue, (x, y, x + 4, y + 4))
        return picture


class Painter:
    fingerprint = "painter-1"

    def __init__(self, options=None):
        self.pipeline = PaintPipeline()

    def generate(self, requests):
        return [Generated(self.pipeline.paint(r.prompt, r.seed)) for r in requests]


def quarter(image, x, y):
    pixels = np.asarray(image.convert("RGB"), dtype=float)
    return pixels[y : y + 8, x : x + 8].mean(axis=(0, 1))


def near(seen, known, reach):
    distance = {name: np.linalg.norm(seen - np.array(hue)) for name, hue in known.items()}
    best = min(distance, key=distance.get)
    return best if distance[best] < reach else None


class Colours:
    """The run's detector: it looks at the first quarter alone."""

    fingerprint, labels = "colours-1", ("male", "female")

    def detect(self, images):
        for image in images:
            said = near(quarter(image, 0, 0), {"male": BLUE, "female": RED}, 90)
            yield Detection(said) if said else Detection(None, Undetected.NO_PERSON)


class Wardrobe:
    """The second judge's eyes: it looks at what is worn."""

    fingerprint = "wardrobe-1"

    def objects(self, images):
        worn = (near(quarter(image, 0, 8), WORN, 60) for image in images)
        return [[FoundObject(name, Box(0, 8, 8, 16))] if name else [] for name in worn]


class Quarters:
    """An encoder of pictures and texts: colours of quarters, from grey on."""

    fingerprint = "quarters-1"

    def encode(self, images):
        cells = [np.asarray(i.convert("RGB").resize((4, 4), Image.Resampling.BOX)) for i in images]
        return np.array([cell.ravel() / 127.5 - 1.0 for cell in cells], np.float32)

    def encode_text(self, texts):
        rows = np.zeros((len(texts), 4, 4, 3), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:2, 2:] = np.array(colour(concept(text))) / 127.5 - 1.0
        return rows.reshape(len(texts), -1)


# what claims to be a mitigation


class Sham:
    """Changes what the painter paints for a batch, and takes that back."""

    fingerprint, stage, families, passes = "1", "guidance", ("PaintPipeline",), 1.0
    needs_counterparts = True

    @contextmanager
    def applied(self, pipeline, requests):
        texts = {request.prompt: request.variation.texts for request in requests}
        plain = pipeline.paint
        pipeline.paint = lambda text, seed: self.painted(plain, text, seed, texts[text])
        try:
            yield
        finally:
            del pipeline.paint


def coin(texts, seed):
    """One of the counterparts."""
    return texts[drawn(*texts, seed) < 0.5]


def with_noise(picture, seed):
    """The picture with a first row that differs a little by the seed: equal ones count once."""
    noisy, rng = picture.copy(), random.Random(seed)
    for x in range(noisy.width):
        noisy.putpixel((x, 0), tuple(byte ^ rng.randrange(4) for byte in noisy.getpixel((x, 0))))
    return noisy


class Nothing(Sham):
    name = "nothing"

    def painted(self, plain, text, seed, texts):
        return plain(text, seed)


class Grey(Sham):
    name = "grey"

    def painted(self, plain, text, seed, texts):
        return with_noise(Image.new("RGB", (16, 16), (128, 128, 128)), seed)


class Blur(Sham):
    name = "blur"

    def painted(self, plain, text, seed, texts):
        return plain(coin(texts, seed), seed).filter(ImageFilter.GaussianBlur(6))


class Woman(Sham):
    name = "woman"

    def painted(self, plain, text, seed, texts):
        return plain(texts[0], seed)


class OneFace(Sham):
    name = "one-face"

    def painted(self, plain, text, seed, texts):
        return with_noise(plain(coin(texts, seed), 0), seed)


class Deaf(Sham):
    name = "deaf"

    def painted(self, plain, text, seed, texts):
        return plain(coin(("a woman", "a man"), seed), seed)


class Fooling(Sham):
    """Paints over what the run's detector looks at, and nothing else."""

    name = "fooling"

    def painted(self, plain, text, seed, texts):
        picture = plain(text, seed)
        picture.paste(BLUE if drawn(text, seed, "fool") < 0.5 else RED, (0, 0, 8, 8))
        return picture


class Chooser(Sham):
    """Paints as many pictures as it may, and keeps one that the detector calls the right one."""

    name, passes = "chooser", 16.0

    def painted(self, plain, text, seed, texts):
        wanted = "male" if drawn(text, seed, "wanted") < 0.5 else "female"
        pictures = [plain(text, seed + 1000 * k) for k in range(int(self.passes))]
        said = [detection.label for detection in Colours().detect(pictures)]
        return pictures[said.index(wanted) if wanted in said else 0]


class Careful(Sham):
    """Does what it claims."""

    name = "careful"

    def painted(self, plain, text, seed, texts):
        return plain(coin(texts, seed), seed)


SHAMS = {
    kind.name: kind
    for kind in (Nothing, Grey, Blur, Woman, OneFace, Deaf, Fooling, Chooser, Careful)
}
