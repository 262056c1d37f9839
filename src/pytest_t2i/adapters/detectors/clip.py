"""CLIP as a zero-shot detector: the label is that of the text most similar to the picture.

Gender by Lyu Appendix A ("a photo of a male" against "a photo of a female", highest similarity,
no filter); any attribute by OASIS eq. 5 (its description against the description of its absence).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pytest_t2i.adapters.detectors.screening import screened
from pytest_t2i.adapters.encoders.contrastive import ContrastiveEncoder
from pytest_t2i.adapters.encoders.routing import load_contrastive
from pytest_t2i.data import Attribute, Detection, Undetected, digest
from pytest_t2i.errors import DetectorError
from pytest_t2i.protocols import LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image

GENDER = {"male": "a photo of a male", "female": "a photo of a female"}
"""Label -> prompt (Lyu Appendix A)."""
PRESENT, ABSENT = "present", "absent"


def load(options: LoadOptions) -> ClipDetector:
    """Load the gender detector of Lyu Appendix A.

    Args:
        options: ``source`` is a hub id or folder of a CLIPModel, or an open_clip name; "" is
            openai/clip-vit-large-patch14.

    Raises:
        ModelLoadError: the weights are absent, gated or damaged.
        ConfigurationError: no such device or dtype.
    """
    return ClipDetector(load_contrastive(options), GENDER)


class ClipDetector:
    """A Detector (also OpenSet and MadeFor) that gives the label of the most similar text.

    The scores of a detection are the cosine similarity under each label and the probability under
    ``p(label)``: the softmax over the labels at the model's own temperature.
    """

    def __init__(
        self, encoder: ContrastiveEncoder, texts: Mapping[str, str], tie: str | None = None
    ) -> None:
        """Args: the encoder, label -> text, and the label of a tie (None: undetected)."""
        self.encoder = encoder
        self.texts = dict(texts)
        self._tie = tie

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.texts)

    @cached_property
    def fingerprint(self) -> str:
        return digest(["clip", self.encoder.fingerprint, list(self.texts.items()), self._tie])

    @property
    def provenance(self) -> Mapping[str, str]:
        return {**self.encoder.provenance, **{f"text {k}": v for k, v in self.texts.items()}}

    def for_attribute(self, attribute: Attribute) -> ClipDetector:
        """A detector of one attribute with the labels present and absent (OASIS eq. 5).

        Present means strictly more similar to the positive description.
        """
        texts = {PRESENT: attribute.positive, ABSENT: attribute.negative}
        return ClipDetector(self.encoder, texts, tie=ABSENT)

    @property
    def made_for(self) -> str:
        """The kind of pictures that the CLIP was made for; "" for any."""
        return self.encoder.made_for

    def in_domain(self, images: Sequence[Image]) -> list[bool]:
        return self.encoder.in_domain(images)

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order; black and unreadable ones are undetected."""
        return screened(images, self._look)

    def _look(self, pictures: list[Image]) -> list[Detection]:
        cosines = self.encoder.similarities(pictures, list(self.texts.values()))
        if not np.isfinite(cosines).all():
            raise DetectorError(
                "expected finite CLIP features, got NaN or infinity: use --t2i-dtype float32."
            )
        return [self._decide(row) for row in cosines]

    def _decide(self, cosines: np.ndarray) -> Detection:
        logits = self.encoder.logit_scale * (cosines - cosines.max())
        shares = np.exp(logits) / np.exp(logits).sum()
        scores = {label: float(c) for label, c in zip(self.labels, cosines, strict=True)}
        scores |= {f"p({label})": float(p) for label, p in zip(self.labels, shares, strict=True)}
        best = np.flatnonzero(cosines == cosines.max())
        label = self.labels[best[0]] if len(best) == 1 else self._tie
        if label is None:
            # Taking the first of two equals would favour one gender.
            return Detection(None, Undetected.LOW_CONFIDENCE, scores, "tie")
        return Detection(label, None, scores)
