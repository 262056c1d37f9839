"""Models whose text embedding, latent and picture follow one from another; each may be biased."""

from __future__ import annotations

import numpy as np
from PIL import Image

from pytest_t2i.data import Detection, Generated, Trace, spi_name

STEPS, SIZE = 6, 24
BLUE, RED = (40, 60, 200), (200, 60, 40)


def noise(*parts):
    seed = [sum(ord(sign) * (k + 7) for k, sign in enumerate(str(part))) for part in parts]
    return np.random.default_rng(seed)


def lean(text):
    """1 for a man, -1 for a woman, else 0."""
    words = text.split()
    return ("man" in words or "male" in words) - ("woman" in words or "female" in words)


class Layered:
    """A model whose planted change lies in the text encoder, the denoiser or the decoder."""

    def __init__(self, biased="", embeds=True):
        self.biased = biased
        self.fingerprint = f"layered-{biased}-{embeds}"
        self.provenance = {}
        if embeds:
            self.embed_text = self._embed_text

    def _reading(self, text):
        """How far a text is read as one of a man, from -1 to 1."""
        return lean(text) or (0.9 if self.biased == "text" else 0.0)

    def _embed_text(self, texts):
        return [
            np.append(noise(sorted(set(text.split()) - {"man", "woman"})).normal(size=SIZE),
                      3.0 * self._reading(text))[None, :].astype(np.float32)
            for text in texts
        ]  # fmt: skip

    def _side(self, request):
        """1 where the latent is that of a man, else -1."""
        p_male = 0.5 + self._reading(request.prompt) / 2
        if self.biased == "denoiser" and not lean(request.prompt):
            p_male = 0.97
        return 1 if noise("side", request.seed).random() < p_male else -1

    def generate(self, requests):
        for request in requests:
            side = self._side(request)
            latent = np.append(noise("latent", request.seed).normal(size=SIZE), 4.0 * side)
            is_male = side > 0 or (
                self.biased == "decoder" and noise("decoder", request.seed).random() < 0.95
            )
            image = Image.new("RGB", (16, 16), BLUE if is_male else RED)
            image.putpixel((0, 0), tuple(request.seed >> shift & 255 for shift in (0, 8, 16)))
            yield Generated(image, self._trace(request, latent.astype(np.float32), side))

    def _trace(self, request, latent, side):
        if "final_latent" not in request.observe or not hasattr(self, "embed_text"):
            return Trace()
        # The side appears in the second third of the steps.
        moves = 0.3 * noise("steps", request.seed).normal(size=STEPS) * 0.1
        moves[2:4] += 0.5 * side
        curve = np.stack([np.linspace(1, 0, STEPS), moves, moves, moves])
        spi = {
            spi_name(a): curve if a.name == "male" else curve * [[1], [-1], [-1], [-1]]
            for a in request.attributes
        }
        return Trace(final_latent=latent, spi=spi)


class Judge:
    """Blue is male; a misled one says male of nearly all."""

    labels = ("male", "female")

    def __init__(self, share=0.0):
        self.share = share
        self.fingerprint = f"layered-judge-{share}"

    def detect(self, images):
        return [Detection("male" if self._is_male(image) else "female") for image in images]

    def _is_male(self, image):
        red, _, blue = image.getpixel((8, 8))
        return blue > red or noise("judge", image.getpixel((0, 0))).random() < self.share


class Encoder:
    """Features: the colour, and a little noise that the first pixel gives."""

    fingerprint = "layered-encoder"

    def encode(self, images):
        return [
            np.append(noise("features", image.getpixel((0, 0))).normal(size=8) / 8,
                      1.0 if image.getpixel((8, 8)) == BLUE else -1.0)
            for image in images
        ]  # fmt: skip


def plain(options):
    return Layered()


def twin(options):
    return Layered("twin")


def text(options):
    return Layered("text")


def denoiser(options):
    return Layered("denoiser")


def decoder(options):
    return Layered("decoder")


def silent(options):
    return Layered(embeds=False)


def silent_denoiser(options):
    return Layered("denoiser", embeds=False)


def judge(options):
    return Judge()


def misled_judge(options):
    return Judge(0.9)


def encoder(options):
    return Encoder()
