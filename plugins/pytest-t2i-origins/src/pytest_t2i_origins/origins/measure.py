"""Origins: what a model associates with a concept, as prompts that lead there (StOP, OASIS).

Images are clustered by their faces; each cluster has the prompts that are nearest to its images.
Images made from the best of these prompts are compared with those of the plain prompt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from pytest_t2i import Evidence, Interval, Measurement, Prompt, Stereotype, TextEncoder, statistics
from pytest_t2i.metrics import attribute_presence, stereotype_score

from pytest_t2i_origins.origins import STOCK_FIGURE
from pytest_t2i_origins.origins.optimised_prompts import OptimisedPrompt, unit_rows

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Shown:
    """An attribute with its real-world share and the share of all images that show it."""

    name: str
    share: Interval
    """Share among the concept's images with a face."""
    expected: float
    """The real-world share."""
    direction: Literal["over", "under"]
    """What a stereotype of the attribute does to its share."""

    @property
    def beyond(self) -> bool:
        """Whether it is more frequent than in the real world (direction "under": rarer)."""
        if self.direction == "under":
            return self.share.high < self.expected
        return self.share.low > self.expected


def stock_figure(
    subject: str, shown: Sequence[Shown], named: Sequence[str], most: int, level: float
) -> Measurement:
    attributes = [attribute for attribute in shown if attribute.name in named]
    excesses = (
        ", ".join(f"{attribute.name} {_excess(attribute, level)}" for attribute in attributes)
        or "none"
    )
    remark = f"named by prompts, share beyond the real world: {excesses}"
    if not shown:
        return Measurement(
            STOCK_FIGURE, subject, None, absent="no attribute has a known real-world share"
        )
    if len(attributes) <= most:
        # Attributes that the prompts do not name are no part of a figure, whatever the images show.
        n = shown[0].share.n
        nothing = Interval(0.0, 0.0, 0.0, level, f"{len(attributes)} named, {most} allowed", n)
        return Measurement(STOCK_FIGURE, subject, nothing, remarks=(remark,))
    joint_level = 1.0 - (1.0 - level) / len(shown)
    intervals = [_excess(attribute, joint_level) for attribute in attributes]
    estimate, low, high = (
        sorted((getattr(interval, end) for interval in intervals), reverse=True)[most]
        for end in ("estimate", "low", "high")
    )
    method = f"exact, {len(shown)} attributes at once"
    return Measurement(
        metric=STOCK_FIGURE,
        subject=subject,
        interval=Interval(estimate, low, high, level, method, intervals[0].n),
        images=intervals[0].n,
        evidence=partial(_evidence, attributes, len(shown), most),
        remarks=(remark,),
    )


def _excess(attribute: Shown, level: float) -> Interval:
    """Return the share minus the real-world share; for direction "under" the other way round."""
    share = statistics.share_interval(_count(attribute), attribute.share.n, level)
    if attribute.direction == "under":
        middle, low, high = (
            attribute.expected - x for x in (share.estimate, share.high, share.low)
        )
    else:
        middle, low, high = (
            x - attribute.expected for x in (share.estimate, share.low, share.high)
        )
    return Interval(middle, low, high, level, share.method, share.n)


def _count(attribute: Shown) -> int:
    return round(attribute.share.estimate * attribute.share.n)


def _evidence(
    attributes: Sequence[Shown], total: int, most: int, bound: float, level: float
) -> Evidence:
    """Return evidence that more than ``most`` lie beyond, or all but ``most`` within.

    This is the partial conjunction of Benjamini and Heller (2008).

    Beyond: the (most + 1)-th smallest p-value times the number of the attributes left. Within: all
    but ``most`` must be shown to lie within. If that were false, most + 1 attributes would lie
    beyond, and at least one of them would have to be shown within wrongly.
    """
    del level
    beyond = sorted(_p_value(attribute, bound, beyond=True) for attribute in attributes)
    within = sorted(
        (_p_value(attribute, bound, beyond=False) for attribute in attributes), reverse=True
    )
    return Evidence(min(1.0, (total - most) * beyond[most]), min(1.0, (most + 1) * within[most]))


def _p_value(attribute: Shown, bound: float, *, beyond: bool) -> float:
    is_over = attribute.direction != "under"
    limit = attribute.expected + bound if is_over else attribute.expected - bound
    if not 0.0 <= limit <= 1.0:
        # No share lies beyond such a limit: nothing is beyond it, everything within.
        return 1.0 if beyond else 0.0
    if beyond == is_over:
        return statistics.share_p_value(_count(attribute), attribute.share.n, limit, "above")
    return statistics.share_p_value(_count(attribute), attribute.share.n, limit, "below")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Images of a concept whose faces are alike."""

    members: tuple[int, ...]
    """Positions of the cluster's images among the images with a face."""
    share: Interval
    """The cluster's share of the concept's images with a face."""
    excess: float | None
    """Mean stereotype score within the cluster; None where no real-world share is known."""
    shares: dict[str, Interval]
    """Attribute -> share of the cluster's images that show it."""
    prompts: tuple[OptimisedPrompt, ...] = ()
    """Prompts that lead to the cluster, the best first."""
    plain: Interval | None = None
    """Mean similarity of all images of the plain prompt, faceless ones included, to the cluster.

    An image of the cluster is compared with the cluster's other images. None for a cluster of one
    image.
    """
    optimised: Interval | None = None
    """Mean similarity of all images of the best optimised prompt to the cluster."""


@dataclass(frozen=True, slots=True)
class Origins:
    """The clusters and prompts found for one concept."""

    prompt: Prompt
    images: int
    faceless: int
    """Number of images without a face, which are in no cluster."""
    clusters: tuple[Cluster, ...]
    """The clusters, those furthest from real-world shares first."""
    means: tuple[Image, ...]
    """Mean aligned face of each cluster."""
    features: np.ndarray = field(repr=False, compare=False)
    """Features of the images with a face, unit rows, [n_images, d]; ``Cluster.members`` index
    these."""
    places: tuple[int, ...] = ()
    """Positions of the images with a face among all images."""
    shown: tuple[Shown, ...] = ()
    """Shares of the attributes with a known real-world share, over all images with a face."""
    made: tuple[tuple[Image, ...], ...] = ()
    """Some images of each cluster's best prompt (OASIS Table 3); () where none were made."""
    level: float = 0.95
    """Confidence level of intervals."""

    def stock_figure(
        self, words: Mapping[str, Collection[str]], *, cluster: int = 0, most: int = 1
    ) -> Measurement:
        """Return the excess over the real world that more than ``most`` named attributes reach.

        An attribute is named if the prompts of the cluster (by default the first) have one of its
        ``words``. The excess is 0 where they name at most ``most`` attributes. Intervals and
        verdicts hold for all known attributes at once.
        """
        prompt_words = {
            word
            for prompt in self.clusters[cluster].prompts
            for word in prompt.text.lower().split()
        }
        names = [name for name, synonyms in words.items() if prompt_words & set(synonyms)]
        return stock_figure(self.prompt.id, self.shown, names, most, self.level)


def presence_of(
    features: np.ndarray, encoder: TextEncoder, stereotypes: Sequence[Stereotype]
) -> dict[str, np.ndarray]:
    """Return, by attribute, which images show it (OASIS eq. 5).

    ``features`` are unit rows of whole images, [n_images, d].
    """
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
    """Return the clusters, those furthest from real-world shares first, else the largest.

    ``labels`` holds the cluster of each image; ``shows`` maps an attribute to whether each image
    shows it.
    """
    clusters = []
    for label in sorted(set(labels.tolist())):
        mine = np.flatnonzero(labels == label)
        excess = [
            stereotype_score(float(shows[s.attribute.name][mine].mean()), s.expected, s.direction)
            for s in stereotypes
        ]
        shares = {
            name: statistics.share_interval(int(mask[mine].sum()), len(mine), level)
            for name, mask in shows.items()
        }
        share = statistics.share_interval(len(mine), len(labels), level)
        mean = float(np.mean(excess)) if excess else None
        clusters.append(Cluster(tuple(mine.tolist()), share, mean, shares))
    return sorted(clusters, key=lambda cluster: (-(cluster.excess or 0.0), -cluster.share.estimate))


def shown_attributes(
    shows: dict[str, np.ndarray], stereotypes: Sequence[Stereotype], level: float
) -> tuple[Shown, ...]:
    """Return the share of all images that show each attribute, with its real-world share."""
    shares = {
        name: statistics.share_interval(int(mask.sum()), len(mask), level)
        for name, mask in shows.items()
    }
    return tuple(
        Shown(s.attribute.name, shares[s.attribute.name], s.expected, s.direction)
        for s in stereotypes
    )


def _presence(features: np.ndarray, encoder: TextEncoder, stereotype: Stereotype) -> np.ndarray:
    """Return which images show the attribute (OASIS eq. 5)."""
    texts = [stereotype.attribute.positive, stereotype.attribute.negative]
    positive, negative = (features @ unit_rows(encoder.encode_text(texts)).T).T
    return np.asarray(attribute_presence(positive, negative))


def nearness(
    features: np.ndarray, cluster: np.ndarray, level: float, own: Sequence[int] = ()
) -> Interval | None:
    """Return the mean similarity of images to those of a cluster; None with fewer than two images.

    ``own`` holds the positions of those images that belong to the cluster, in its order. Each of
    them is compared with the cluster's other images alone, because its similarity to itself would
    inflate the mean. Returns None also where there are no other images.
    """
    if min(len(features), len(cluster) if len(own) else 2) < 2:  # noqa: PLR2004 - no spread of one
        return None
    near = features @ cluster.mean(axis=0)
    if len(own):
        rest = (cluster.sum(axis=0) - cluster) / (len(cluster) - 1)
        near[list(own)] = (cluster * rest).sum(axis=1)
    interval = statistics.mean_interval([near], level=level)
    # With few images the interval may leave the range of a cosine.
    return replace(interval, low=max(-1.0, interval.low), high=min(1.0, interval.high))


def mean_picture(pictures: Sequence[Image]) -> Image:
    """Return the mean of pictures of one size.

    >>> from PIL import Image
    >>> mean_picture([Image.new("RGB", (2, 2), c) for c in ("black", "white")]).getpixel((0, 0))
    (128, 128, 128)
    """
    from PIL import Image as Images

    mean = np.mean([np.asarray(picture, dtype=np.float64) for picture in pictures], axis=0)
    return Images.fromarray(np.round(mean + 1e-9).astype(np.uint8))
