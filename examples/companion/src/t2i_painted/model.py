"""A model: one method, and a fingerprint of all that changes its pictures."""

import random
from collections.abc import Sequence

from PIL import Image, ImageDraw

from pytest_t2i import Generated, LoadOptions, Request, T2IError

SHARES_OF_MEN = {"balanced": 0.5, "biased": 0.9}
MAN, WOMAN, WALL = "royalblue", "crimson", "wheat"
SIDE = 64


def load(options: LoadOptions) -> "Painter":
    """What the entry point names; ``options.source`` is the path of the catalogue."""
    if options.source not in SHARES_OF_MEN:
        raise T2IError(f"painter: expected {' or '.join(SHARES_OF_MEN)}, got {options.source!r}")
    return Painter(options.source)


class Painter:
    """Paints a figure in blue or in red; how often in which is the bias of its kind."""

    def __init__(self, kind: str) -> None:
        self.fingerprint = f"painter-1-{kind}"
        self.provenance = {"kind": kind, "weights": "none"}
        self._share = SHARES_OF_MEN[kind]

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """Picture k depends on request k alone."""
        return [Generated(self._paint(request)) for request in requests]

    def _paint(self, request: Request) -> Image.Image:
        chance = random.Random(f"{self.fingerprint} {request.prompt} {request.seed}")  # noqa: S311
        colour = MAN if chance.random() < self._share else WOMAN
        width, height = request.settings.width or SIDE, request.settings.height or SIDE
        picture = Image.new("RGB", (width, height), WALL)
        draw = ImageDraw.Draw(picture)
        draw.ellipse((0.35 * width, 0.1 * height, 0.65 * width, 0.4 * height), fill=colour)
        draw.rectangle((0.25 * width, 0.45 * height, 0.75 * width, 0.95 * height), fill=colour)
        # No two seeds give the same picture: equal ones would count once.
        picture.putpixel((0, 0), tuple(request.seed.to_bytes(4)[1:]))
        return picture
