"""Origins: what a model associates with a concept, as prompts that lead there (StOP, OASIS).

The images fall into clusters by their faces. For each cluster a language model writes prompts token
by token, and those stay that a CLIP finds nearest to the cluster's images (eq. 8). Images made from
the best of them are held beside those of the plain prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.data import Interval, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.metrics import attribute_presence, stereotype_score
from pytest_t2i.prompts import Stereotype
from pytest_t2i.protocols import NextTokens, TextEncoder

if TYPE_CHECKING:
    from PIL.Image import Image

START = "This is a photo of"
"""Beginning of every prompt (OASIS 3.3)."""


@dataclass(frozen=True, slots=True)
class Search:
    """How prompts are looked for."""

    tokens: int = 2
    """How many are added to the beginning."""
    beam: int = 24
    """Prompts that are kept at each token."""
    width: int = 64
    """Tokens that the language model offers for each."""
    top: int = 10
    """Prompts that are given in the end."""
    start: str = START


@dataclass(frozen=True, slots=True)
class OptimisedPrompt:
    """A prompt and how near the CLIP finds it to a cluster's images."""

    text: str
    similarity: float
    """Mean cosine over the images (eq. 8)."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Images of a concept whose faces are alike."""

    members: tuple[int, ...]
    """Places of its images, among those with a face."""
    share: Interval
    """Of the concept's images with a face."""
    excess: float | None
    """Mean stereotype score within it; None where no real-world share is known."""
    shares: dict[str, Interval]
    """Attribute -> share of the cluster's images that show it."""
    prompts: tuple[OptimisedPrompt, ...] = ()
    """The best first."""
    plain: Interval | None = None
    """Similarity of all images of the plain prompt, those without a face too, to the cluster.

    One of the cluster's own is held beside the others of it. None for a cluster of a single image.
    """
    optimised: Interval | None = None
    """The same of all images of the best optimised prompt, none of which is the cluster's own."""


@dataclass(frozen=True, slots=True)
class Origins:
    """What was found for one concept."""

    prompt: Prompt
    images: int
    faceless: int
    """Images without a face: in no cluster."""
    clusters: tuple[Cluster, ...]
    """Those furthest from the real world first."""
    means: tuple[Image, ...]
    """Mean aligned face of each cluster."""
    features: np.ndarray = field(repr=False, compare=False)
    """Unit rows of the images with a face, [n_images, d]: clusters count by these."""
    places: tuple[int, ...] = ()
    """Of the images with a face, among all."""


def clusters_of(
    labels: np.ndarray,
    features: np.ndarray,
    encoder: TextEncoder,
    stereotypes: Sequence[Stereotype],
    level: float,
) -> list[Cluster]:
    """Clusters, those furthest from real-world shares first; without any known, the largest.

    ``labels`` has the cluster of each image, ``features`` the unit features of whole images.
    """
    shown = {
        stereotype.attribute.name: _presence(features, encoder, stereotype)
        for stereotype in stereotypes
    }
    clusters = []
    for label in sorted(set(labels.tolist())):
        mine = np.flatnonzero(labels == label)
        excess = [
            stereotype_score(float(shown[s.attribute.name][mine].mean()), s.expected, s.direction)
            for s in stereotypes
        ]
        shares = {
            name: statistics.share_interval(int(said[mine].sum()), len(mine), level)
            for name, said in shown.items()
        }
        share = statistics.share_interval(len(mine), len(labels), level)
        mean = float(np.mean(excess)) if excess else None
        clusters.append(Cluster(tuple(mine.tolist()), share, mean, shares))
    return sorted(clusters, key=lambda cluster: (-(cluster.excess or 0.0), -cluster.share.estimate))


def _presence(features: np.ndarray, encoder: TextEncoder, stereotype: Stereotype) -> np.ndarray:
    """Which images show the attribute (eq. 5)."""
    texts = [stereotype.attribute.positive, stereotype.attribute.negative]
    positive, negative = (features @ unit_rows(encoder.encode_text(texts)).T).T
    return np.asarray(attribute_presence(positive, negative))


def optimised_prompts(
    language: NextTokens, encoder: TextEncoder, features: np.ndarray, search: Search
) -> tuple[OptimisedPrompt, ...]:
    """Prompts that the CLIP finds nearest to images, by beam search (eq. 8).

    The mean cosine with images of unit features is the product with their mean: all candidates of
    a token are scored at once.
    """
    centre = features.mean(axis=0)
    kept = [OptimisedPrompt(search.start, 0.0)]
    for _ in range(search.tokens):
        offered = language.next_tokens([prompt.text for prompt in kept], search.width)
        texts = list(dict.fromkeys(text for row in offered for text in row))
        if not texts:
            raise ConfigurationError(
                f"the language model offers no readable token after {kept[0].text!r}: choose "
                "another with --llm"
            )
        scores = unit_rows(encoder.encode_text(texts)) @ centre
        order = np.argsort(-scores, kind="stable")[: max(search.beam, search.top)]
        kept = [OptimisedPrompt(texts[k], float(scores[k])) for k in order]
    return tuple(kept[: search.top])


def nearness(
    features: np.ndarray, cluster: np.ndarray, level: float, seed: int, own: Sequence[int] = ()
) -> Interval | None:
    """Mean similarity of images to a cluster's; None with fewer than two.

    ``own`` has the places of those images that are the cluster's own, in its order. Each is held
    beside the others of the cluster: it is like itself whatever it shows, which would bring images
    near that are not. None, too, where there are no others.
    """
    if min(len(features), len(cluster) if len(own) else 2) < 2:  # noqa: PLR2004 - no spread of one
        return None
    near = features @ cluster.mean(axis=0)
    if len(own):
        others = (cluster.sum(axis=0) - cluster) / (len(cluster) - 1)
        near[list(own)] = (cluster * others).sum(axis=1)
    return statistics.mean_interval([near], level=level, seed=seed)


def mean_picture(pictures: Sequence[Image]) -> Image:
    """The mean of pictures of one size.

    >>> from PIL import Image
    >>> mean_picture([Image.new("RGB", (2, 2), c) for c in ("black", "white")]).getpixel((0, 0))
    (128, 128, 128)
    """
    from PIL import Image as Images

    mean = np.mean([np.asarray(picture, dtype=np.float64) for picture in pictures], axis=0)
    return Images.fromarray(np.round(mean + 1e-9).astype(np.uint8))


def unit_rows(features: np.ndarray) -> np.ndarray:
    """Rows of unit length."""
    plain = np.asarray(features, dtype=np.float64)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    return np.asarray(plain / np.where(lengths > 0, lengths, 1.0))
