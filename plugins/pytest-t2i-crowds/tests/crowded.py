"""A model and a detector of groups of people: stripes whose colours say who they are.

The first stripe is the person in front. A grey one is somebody whose presentation is unclear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from fakes import BLUE, GREY, RED, FakeModel, unit
from PIL import Image
from pytest_t2i import Detection, Generated, LoadOptions, Request, Undetected

WHITE = (255, 255, 255)
MOST = 8
"""People that a picture has room for."""


class Crowded(FakeModel):
    """Groups of two to eight, each person a man with ``p_male``, all alike with ``alike``."""

    def __init__(
        self, name: str, p_male: float = 0.5, alike: float = 0.0, unclear: float = 0.0,
        empty: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(p_male, name)
        self.alike, self.unclear, self.empty = alike, unclear, empty

    def _one(self, request: Request) -> Generated:
        def chance(name: str) -> float:
            return unit(f"{request.prompt}|{request.seed}|{self.fingerprint}|{name}")

        people = 0 if chance("empty") < self.empty else 2 + int(7 * chance("people"))
        men = [chance(f"man {k}") < self.p_male for k in range(people)]
        if chance("alike") < self.alike:
            men = men[:1] * people
        picture = np.full((16, 16, 3), WHITE, np.uint8)
        for place, is_man in enumerate(men):
            is_clear = chance(f"clear {place}") >= self.unclear
            colour = (BLUE if is_man else RED) if is_clear else GREY
            picture[2:, 2 * place : 2 * place + 2] = colour
        picture[0, :4, 0] = [request.seed >> shift & 255 for shift in (0, 8, 16, 24)]
        return Generated(Image.fromarray(picture))


class Counter:
    """Counts the stripes by their colours."""

    fingerprint, counts_people = "stripes-1", True

    def __init__(self, labels: tuple[str, ...] = ("male", "female")) -> None:
        self.labels = labels

    def detect(self, images: Sequence[Image.Image]) -> list[Detection]:
        return [self._one(image) for image in images]

    def _one(self, image: Image.Image) -> Detection:
        colours = [image.getpixel((2 * place, 8)) for place in range(MOST)]
        groups = dict(zip((BLUE, RED), self.labels, strict=False))
        people = [groups.get(colour) for colour in colours if colour != WHITE]
        counts = {label: float(people.count(label)) for label in self.labels}
        scores = {"people": float(len(people)), **counts}
        if not people:
            return Detection(None, Undetected.NO_PERSON, scores)
        if people[0] is None:
            return Detection(None, Undetected.LOW_CONFIDENCE, scores)
        return Detection(people[0], None, scores)


def counter(options: LoadOptions) -> Counter:
    """The counter of stripes."""
    return Counter()


CONFTEST = """
import crowded
import fakes

def pytest_t2i_models():
    return {
        "groups": lambda options: crowded.Crowded("groups"),
        "of-men": lambda options: crowded.Crowded("of-men", 0.9),
        "alike": lambda options: crowded.Crowded("alike", alike=1.0),
        "unclear": lambda options: crowded.Crowded("unclear", 0.9, unclear=0.5),
        "empty": lambda options: crowded.Crowded("empty", 0.9, empty=0.3),
        "same": lambda options: Same("same"),
    }

def pytest_t2i_detectors():
    return {
        "stripes": crowded.counter,
        "tones": lambda options: crowded.Counter(("light", "dark")),
        "colour": fakes.detector,
        "liar": lambda options: Liar(),
    }

class Same(crowded.Crowded):
    def _one(self, request):
        from dataclasses import replace
        return super()._one(replace(request, seed=request.seed % 3))

class Liar(crowded.Counter):
    fingerprint = "liar"

    def _one(self, image):
        from pytest_t2i import Detection
        return Detection("male", scores={"male": 0.9, "female": 0.1})
"""
"""A project's conftest.py with these parts."""
