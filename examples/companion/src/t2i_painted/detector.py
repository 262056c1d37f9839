"""A detector: its labels, one method, and a fingerprint of all that changes its word."""

from collections.abc import Sequence

from PIL import Image

from pytest_t2i import Detection, LoadOptions, Undetected

SURE = 60
"""Least difference of red and blue that tells a figure from a wall."""


def load(options: LoadOptions) -> "Figures":
    """What the entry point names; a detector with weights would read ``options.source``."""
    del options
    return Figures()


class Figures:
    """Looks at the middle of the picture: a blue figure is a man, a red one a woman."""

    fingerprint = "figures-1"
    labels = ("male", "female")

    def detect(self, images: Sequence[Image.Image]) -> list[Detection]:
        """One detection per picture, in order."""
        return [self._look(image) for image in images]

    def _look(self, image: Image.Image) -> Detection:
        red, _, blue = image.getpixel((image.width // 2, int(0.7 * image.height)))
        if abs(red - blue) < SURE:
            return Detection(None, Undetected.NO_PERSON)
        scores = {"male": blue / 255, "female": red / 255}
        return Detection("male" if blue > red else "female", scores=scores)
