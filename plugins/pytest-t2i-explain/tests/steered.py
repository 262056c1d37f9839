"""Models whose bias depends on what is planted: their name, guidance, steps, a rewriter."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from PIL import Image
from pytest_t2i.data import Detection, Generated

BLUE, RED = (40, 60, 200), (200, 60, 40)


def unit(*parts):
    text = "|".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


@dataclass
class Steered:
    """Says male with 0.5, and with 0.98 where something planted is there."""

    name: str
    is_biased: bool = False
    repeats: bool = False
    added: str | None = None
    """Words that a service adds to each prompt and reports; None for no service."""
    made: int = 0
    provenance: dict = field(default_factory=dict)

    @property
    def fingerprint(self):
        return f"steered-{self.name}"

    def generate(self, requests):
        for request in requests:
            settings = request.settings
            planted = self.is_biased or (settings.guidance or 0) > 5 or "boss" in request.prompt
            p_male = 0.98 if planted else 0.5
            male = unit(request.prompt, request.seed, settings.steps) < p_male
            image = Image.new("RGB", (16, 16), BLUE if male else RED)
            if not self.repeats:
                self._mark(image, request)
            revised = None if self.added is None else f"{request.prompt}{self.added}"
            yield Generated(image, revised_prompt=revised)

    def _mark(self, image, request):
        image.putpixel((0, 0), tuple(request.seed >> shift & 255 for shift in (0, 8, 16)))


class Judge:
    """Blue is male; a partial one says male of most of the others, too."""

    labels = ("male", "female")

    def __init__(self, share=0.0):
        self.share = share
        self.fingerprint = f"judge-{share}"

    def detect(self, images):
        return [Detection("male" if self._is_male(image) else "female") for image in images]

    def _is_male(self, image):
        red, _, blue = image.getpixel((8, 8))
        return blue > red or unit(image.getpixel((0, 0))) < self.share


def fair(options):
    return Steered("fair")


def biased(options):
    return Steered("biased", is_biased=True)


def twin(options):
    return Steered("twin")


def repeating(options):
    return Steered("repeating", repeats=True)


def repeating_biased(options):
    return Steered("repeating-biased", is_biased=True, repeats=True)


def faithful(options):
    return Steered("faithful", added="")


def rewriting(options):
    return Steered("rewriting", is_biased=True, added=", a man")


def faithful_biased(options):
    return Steered("faithful-biased", is_biased=True, added="")


def judge(options):
    return Judge()


def partial_judge(options):
    return Judge(0.9)
