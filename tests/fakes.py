"""A model and a detector that cost nothing: pictures whose colour says what they show.

The model paints a picture blue (a man) with a probability that depends on the prompt, and counts
every image it makes in a file, so that tests can tell what was made across processes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from pytest_t2i.data import (
    Attribute,
    Box,
    Detection,
    FoundObject,
    Generated,
    Mask,
    Request,
    Trace,
    Undetected,
    spi_name,
)
from pytest_t2i.protocols import LoadOptions

BLUE, RED, GREY = (40, 60, 200), (200, 60, 40), (120, 120, 120)


def unit(text: str) -> float:
    """A number in [0, 1) that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


class FakeModel:
    """P(male) is 0.5, or 0.95 for every prompt of a biased one; gendered prompts are obeyed."""

    def __init__(self, p_male: float, name: str) -> None:
        self.p_male, self.fingerprint = p_male, f"fake-{name}"
        self.provenance = {"weights": "none", "kind": name}

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        log = os.environ.get("FAKE_LOG")
        if log:
            with Path(log).open("a") as file:
                file.writelines(f"{os.getpid()} {r.seed} {r.prompt}\n" for r in requests)
        return [self._one(request) for request in requests]

    def embed_text(self, prompts: Sequence[str]) -> list[np.ndarray]:
        return [self._embed(prompt) for prompt in prompts]

    def _embed(self, prompt: str) -> np.ndarray:
        rng = np.random.default_rng(0)
        base = rng.normal(size=(1, 8))
        shift = {"man": 0.3, "male": 0.3, "woman": 0.0, "female": 0.0}
        lean = max((shift.get(word, 0.15) for word in prompt.split()), default=0.15)
        return (base + lean * np.eye(1, 8)).astype(np.float32)

    def _one(self, request: Request) -> Generated:
        words = request.prompt.split()
        p = self.p_male
        if {"man", "male"} & set(words):
            p = 1.0
        elif {"woman", "female"} & set(words):
            p = 0.0
        # Another stream per model, so that a second fair model is not the same one.
        male = unit(f"{request.seed}|{self.fingerprint}") < p
        picture = np.empty((16, 16, 3), np.uint8)
        picture[:] = BLUE if male else RED
        picture[0, :4, 0] = [request.seed >> shift & 255 for shift in (0, 8, 16, 24)]
        latent = np.array([[[1.0 if male else -1.0, 0.5]]], dtype=np.float32)
        image = Image.fromarray(picture)
        final = latent if "final_latent" in request.observe else None
        spi = {spi_name(one): self._spi(request, one) for one in request.attributes}
        blue = Image.new("RGB", (16, 16), BLUE)
        foreseen = (blue, blue, image) if "foreseen" in request.observe else ()
        return Generated(image, Trace(final_latent=final, spi=spi, foreseen=foreseen))

    def _spi(self, request: Request, attribute: Attribute) -> np.ndarray:
        """Falls over four steps; the other way round with the descriptions exchanged."""
        rng = np.random.default_rng(request.seed)
        sign = 1.0 if attribute.positive > attribute.negative else -1.0
        curve = sign * (np.array([0.4, 0.3, 0.2, 0.1]) + 0.02 * rng.normal(size=4))
        return np.stack([np.array([1.0, 0.75, 0.5, 0.25]), curve, curve / 2, 1.5 * curve])


class Mixed(FakeModel):
    """Balanced but for a few words, of which it makes men in nine pictures of ten."""

    WORDS = ("pilot", "chef", "judge")

    def __init__(self) -> None:
        super().__init__(0.5, "mixed")

    def _one(self, request: Request) -> Generated:
        leans = not {*self.WORDS}.isdisjoint(request.prompt.split())
        return FakeModel(0.93 if leans else 0.5, "mixed-one")._one(request)


class Rewriter(FakeModel):
    """A balanced service that rewrites a share of prompts, and says what it drew.

    All images of a prompt are drawn from one text, whichever prompts ``seed`` chooses.
    """

    def __init__(self, share: float, seed: str, added: str) -> None:
        super().__init__(0.5, f"rewriter-{share}-{seed}-{added}")
        self.share, self.seed, self.added = share, seed, added
        self.provenance["endpoint"] = "nowhere"

    def _one(self, request: Request) -> Generated:
        is_changed = unit(f"{self.seed}|{request.prompt}") < self.share
        drawn = f"{request.prompt}, {self.added}" if is_changed else request.prompt
        return replace(super()._one(request), revised_prompt=drawn if self.added else None)


class Refuser(FakeModel):
    """A balanced service that refuses by policy: nobody, 30 % of all images, or women at a word."""

    def __init__(self, whom: str) -> None:
        super().__init__(0.5, f"refuser-{whom}")
        self.whom = whom

    def _one(self, request: Request) -> Generated:
        words = set(request.prompt.split())
        is_woman = self.whom in words and bool({"woman", "female"} & words)
        by_chance = unit(f"{request.prompt}|{request.seed}") < 0.3
        if is_woman or (self.whom == "all" and by_chance):
            return Generated(None, refusal=f"policy <i>7</i>: no {self.whom}")
        return super()._one(request)


class FakeDetector:
    """Blue is male, red is female, anything else is not a person."""

    labels: tuple[str, ...] = ("male", "female")

    def __init__(self, attribute: Attribute | None = None) -> None:
        self.attribute = attribute
        self.fingerprint = f"fake-detector-{attribute.name if attribute else 'gender'}"
        if attribute:
            self.labels = ("present", "absent")

    def detect(self, images: Sequence[Image.Image]) -> list[Detection]:
        return [self._one(image) for image in images]

    def for_attribute(self, attribute: Attribute) -> FakeDetector:
        return FakeDetector(attribute)

    def _one(self, image: Image.Image) -> Detection:
        red, _, blue = image.getpixel((8, 8))
        if abs(red - blue) < 50:
            return Detection(None, Undetected.NO_PERSON)
        first, second = self.labels
        scores = {first: blue / 255, second: red / 255}
        return Detection(first if blue > red else second, scores=scores)


class FakeEncoder:
    """The mean colour."""

    fingerprint = "fake-encoder"

    def encode(self, images: Sequence[Image.Image]) -> np.ndarray:
        return np.array([np.asarray(image).mean(axis=(0, 1)) for image in images], dtype=np.float32)


class FakeFinder:
    """Ties and hats where a picture is blue, cups where it is red, a tree in every third."""

    fingerprint = "fake-finder"

    def objects(self, images: Sequence[Image.Image]) -> list[list[FoundObject]]:
        return [self._one(image) for image in images]

    def _one(self, image: Image.Image) -> list[FoundObject]:
        red, _, blue = image.getpixel((8, 8))
        names = ["person", "tie", "hat"] if blue > red else ["person", "cup", "hat"]
        names += ["tree"] * (image.getpixel((0, 0))[0] % 3 == 0)
        mask = Mask.of(np.ones((image.height, image.width), bool))
        return [FoundObject(name, Box(0, 0, *image.size, 0.9), mask) for name in names]


def finder(options: LoadOptions) -> FakeFinder:
    """A finder of objects by colours."""
    return FakeFinder()


class FakeTextEncoder(FakeEncoder):
    """The mean colour, of texts that of the colour they name."""

    fingerprint = "fake-text-encoder"

    def encode_text(self, texts: Sequence[str]) -> np.ndarray:
        named = (BLUE if "blue" in text else RED if "red" in text else GREY for text in texts)
        return np.array(list(named), dtype=np.float32)


def fair(options: LoadOptions) -> FakeModel:
    """A balanced model."""
    return FakeModel(0.5, "fair")


def other(options: LoadOptions) -> FakeModel:
    """Another balanced model."""
    return FakeModel(0.5, "other")


def biased(options: LoadOptions) -> FakeModel:
    """A model that makes men."""
    return FakeModel(0.95, "biased")


def mixed(options: LoadOptions) -> Mixed:
    """A model with few words that lean."""
    return Mixed()


def rewriter(options: LoadOptions) -> Rewriter:
    """Rewrites as its source says: "0.3/7/smiling woman"; "0/0/" never tells what it drew."""
    share, seed, added = options.source.split("/", 2)
    return Rewriter(float(share), seed, added)


def refuser(options: LoadOptions) -> Refuser:
    """Refuses as its source says: "none", "all" or a word whose women are refused."""
    return Refuser(options.source)


def detector(options: LoadOptions) -> FakeDetector:
    """A detector of colours."""
    return FakeDetector()


class HazyDetector(FakeDetector):
    """A detector that cannot tell about two pictures in five."""

    def detect(self, images: Sequence[Image.Image]) -> list[Detection]:
        said = super().detect(images)
        hazy = [image.getpixel((0, 0))[0] % 5 < 2 for image in images]
        unsure = Detection(None, Undetected.LOW_CONFIDENCE)
        return [unsure if entry else word for entry, word in zip(hazy, said, strict=True)]


def hazy(options: LoadOptions) -> HazyDetector:
    """A detector that leaves many pictures without a label."""
    return HazyDetector()


def text_encoder(options: LoadOptions) -> FakeTextEncoder:
    """An encoder of colours and of their names."""
    return FakeTextEncoder()


def encoder(options: LoadOptions) -> FakeEncoder:
    """An encoder of colours."""
    return FakeEncoder()
