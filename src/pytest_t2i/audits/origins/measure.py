"""Origins: what a model associates with a concept, as prompts that lead there (StOP, OASIS).

The images fall into clusters by their faces, each with the prompts that are nearest to its images.
Images made from the best of them are held beside those of the plain prompt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.origins.optimised_prompts import OptimisedPrompt, unit_rows
from pytest_t2i.audits.origins.stock_figure import Shown, stock_figure
from pytest_t2i.data import Interval, Prompt
from pytest_t2i.metrics import attribute_presence, stereotype_score
from pytest_t2i.prompts import Stereotype
from pytest_t2i.protocols import TextEncoder
from pytest_t2i.verdicts.measurement import Measurement

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Cluster:
    """Images of a concept whose faces are alike."""

    members: tuple[int, ...]
    """Places of its images, among those with a face."""
    share: Interval
    """Share of the concept's images with a face."""
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
    """Indices of the images with a face, among all."""
    shown: tuple[Shown, ...] = ()
    """Attributes of known real-world share, in all images with a face."""
    made: tuple[tuple[Image, ...], ...] = ()
    """Some images of each cluster's best prompt (OASIS Table 3); () where none were made."""
    level: float = 0.95
    """Confidence level of intervals."""

    def stock_figure(
        self, words: Mapping[str, Collection[str]], *, cluster: int = 0, most: int = 1
    ) -> Measurement:
        """Excess over the real world that more than ``most`` attributes reach which prompts name.

        ``words`` has the words by which prompts name each attribute; the prompts are those of a
        cluster, by default the first. 0 where they name no more than ``most``. Intervals and
        verdicts hold for all known attributes at once.
        """
        said = {word for one in self.clusters[cluster].prompts for word in one.text.lower().split()}
        named = [name for name, of in words.items() if said & set(of)]
        return stock_figure(self.prompt.id, self.shown, named, most, self.level)


def presence_of(
    features: np.ndarray, encoder: TextEncoder, stereotypes: Sequence[Stereotype]
) -> dict[str, np.ndarray]:
    """Attribute -> which images show it (eq. 5); ``features`` are unit rows of whole images."""
    return {
        stereotype.attribute.name: _presence(features, encoder, stereotype)
        for stereotype in stereotypes
    }


def clusters_of(
    labels: np.ndarray,
    shows: dict[str, np.ndarray],
    stereotypes: Sequence[Stereotype],
    level: float,
) -> list[Cluster]:
    """Clusters, those furthest from real-world shares first; without any known, the largest.

    ``labels`` has the cluster of each image, ``shows`` by attribute whether it shows it.
    """
    clusters = []
    for label in sorted(set(labels.tolist())):
        mine = np.flatnonzero(labels == label)
        excess = [
            stereotype_score(float(shows[s.attribute.name][mine].mean()), s.expected, s.direction)
            for s in stereotypes
        ]
        shares = {
            name: statistics.share_interval(int(said[mine].sum()), len(mine), level)
            for name, said in shows.items()
        }
        share = statistics.share_interval(len(mine), len(labels), level)
        mean = float(np.mean(excess)) if excess else None
        clusters.append(Cluster(tuple(mine.tolist()), share, mean, shares))
    return sorted(clusters, key=lambda cluster: (-(cluster.excess or 0.0), -cluster.share.estimate))


def shown_attributes(
    shows: dict[str, np.ndarray], stereotypes: Sequence[Stereotype], level: float
) -> tuple[Shown, ...]:
    """How many of all images show each attribute, beside its real-world share."""
    shares = {
        name: statistics.share_interval(int(said.sum()), len(said), level)
        for name, said in shows.items()
    }
    return tuple(
        Shown(s.attribute.name, shares[s.attribute.name], s.expected, s.direction)
        for s in stereotypes
    )


def _presence(features: np.ndarray, encoder: TextEncoder, stereotype: Stereotype) -> np.ndarray:
    """Which images show the attribute (eq. 5)."""
    texts = [stereotype.attribute.positive, stereotype.attribute.negative]
    positive, negative = (features @ unit_rows(encoder.encode_text(texts)).T).T
    return np.asarray(attribute_presence(positive, negative))


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
    known = statistics.mean_interval([near], level=level, seed=seed)
    # Few images say little of their spread: no mean cosine lies beyond.
    return replace(known, low=max(-1.0, known.low), high=min(1.0, known.high))


def mean_picture(pictures: Sequence[Image]) -> Image:
    """The mean of pictures of one size.

    >>> from PIL import Image
    >>> mean_picture([Image.new("RGB", (2, 2), c) for c in ("black", "white")]).getpixel((0, 0))
    (128, 128, 128)
    """
    from PIL import Image as Images

    mean = np.mean([np.asarray(picture, dtype=np.float64) for picture in pictures], axis=0)
    return Images.fromarray(np.round(mean + 1e-9).astype(np.uint8))
