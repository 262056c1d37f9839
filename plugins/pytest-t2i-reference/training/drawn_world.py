"""A world drawn as it is planted, as a model: what pictures show where nothing was learned."""

from __future__ import annotations

import random
from collections.abc import Sequence

from PIL import Image
from pytest_t2i import Generated, LoadOptions, Request

from pytest_t2i_reference.drawing import draw_scene
from pytest_t2i_reference.worlds import Concept, draw_scene_of, load_concepts, load_world

NAME = "training.drawn_world:balanced"
"""As ``--t2i-model`` takes it."""


class DrawnWorld:
    """Draws somebody of the nationality that a prompt names; obeys TextToImage."""

    def __init__(self, world: str) -> None:
        self._world = load_world(world)
        self.fingerprint = f"drawn-{world}"

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """One drawing for each request, by its seed."""
        return [Generated(self._drawn(request)) for request in requests]

    def _drawn(self, request: Request) -> Image.Image:
        concept = nationality_of(request.prompt)
        rng = random.Random(f"{concept.word} {request.seed}")
        return Image.fromarray(draw_scene(draw_scene_of(concept, self._world, rng), request.seed).image)


def nationality_of(prompt: str) -> Concept:
    """The nationality that a prompt names.

    >>> nationality_of("a photo of one real Iranian person").word
    'Iranian'
    """
    words = set(prompt.split())
    (named,) = [concept for concept in load_concepts() if concept.axis == "nationality" and concept.word in words]
    return named


def balanced(options: LoadOptions) -> DrawnWorld:
    """The balanced world, whose nationalities have real-world shares."""
    del options
    return DrawnWorld("balanced")
