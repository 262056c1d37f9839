"""Variety: how much of the spread of a concept's images lies along an attribute (WALS, OASIS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.audits.evidence import inverted
from pytest_t2i.audits.instruments import described
from pytest_t2i.audits.prompt_features import PromptFeatures, unit_features
from pytest_t2i.audits.variety.change import mean_variety_change, variety_change
from pytest_t2i.audits.variety.directions import DIRECTIONS, alike, image_direction, text_direction
from pytest_t2i.data import Attribute, Interval, digest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.plan import ATTRIBUTE_IMAGES, FEATURES
from pytest_t2i.metrics import INFO, attribute_presence
from pytest_t2i.statistics.diversity import (
    FEWEST_IMAGES,
    FEWEST_OF_EACH,
    mean_wals_interval,
    wals_at_level,
    wals_interval,
)
from pytest_t2i.verdicts.measurement import Measurement

METHOD = 2
"""Version of the measurement; stored results of another version are not used."""


@dataclass(frozen=True, repr=False)
class Variety(PromptFeatures):
    """The variety of one prompt's images along one attribute."""

    attribute: Attribute
    direction: str
    """One of DIRECTIONS."""
    center: bool = False
    """Whether the mean feature is subtracted first, which the paper does not do."""
    rank: int | None = None
    """Number of the largest singular values that count; None for all."""

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ConfigurationError(
                f"expected a direction among {', '.join(DIRECTIONS)}, got {self.direction!r}"
            )
        described(self.attribute)
        if self.rank is not None and (not isinstance(self.rank, int) or self.rank < 1):
            raise ConfigurationError(f"rank is a whole number from 1 on, got rank={self.rank!r}")
        observed = FEATURES if self.direction == "text" else ATTRIBUTE_IMAGES
        self.instruments.require(observed, self.attribute, f"wals(direction={self.direction!r})")

    def __repr__(self) -> str:
        return f"<Variety of {self.id}: {len(self.seeds)} images>"

    @property
    def id(self) -> str:
        """The prompt's id with the attribute and the source of its direction."""
        options = ", centred" * self.center + (f", rank {self.rank}" if self.rank else "")
        return f"{self.prompt.id}-{self.attribute.name} by {self.direction}{options}"

    @cached_property
    def vector(self) -> np.ndarray | None:
        """The direction of the attribute, [d]; None without a direction."""
        if self.direction == "text":
            return text_direction(*self._texts)
        present, absent = (
            self.features_of(text, self.instruments.seeds(text, len(self.seeds)))
            for text in described(self.attribute)
        )
        return image_direction(self.direction, present, absent)

    @cached_property
    def interval(self) -> Interval | None:
        """WALS with its interval; None with too few images or without a direction."""
        vector = self.vector
        if self.absent or vector is None:
            return None
        return self.remembered(
            f"wals:{self._digest}",
            lambda: wals_interval(
                self.features,
                vector,
                level=self.level,
                seed=self.instruments.seed,
                rank=self.rank,
                center=self.center,
            ),
        )

    def interval_at(self, level: float) -> Interval | None:
        """Return WALS with its interval at another level."""
        known = self.interval
        return known if known is None else wals_at_level(known, level)

    @property
    def wals(self) -> Measurement:
        """The score, from 0 to 1; lower is worse (OASIS eq. 7)."""
        return Measurement(
            metric=INFO["wals"],
            subject=self.id,
            interval=self.interval,
            images=len(self.features),
            evidence=inverted(self._sure_interval_at, "lower") if self.interval else None,
            absent=self.absent,
            remarks=(
                f"along {self.attribute.name!r}, by {self.instruments.encoder}",
                *self._one_sided,
            ),
            change=partial(variety_change, self),
        )

    @property
    def _one_sided(self) -> tuple[str, ...]:
        """A remark where too few images show, or lack, the attribute for a reliable interval."""
        present, absent = self._texts
        if self.absent or present is None or absent is None:
            return ()
        shown = int(attribute_presence(self.features @ present, self.features @ absent).sum())
        rarer, word = min((shown, "show"), (len(self.features) - shown, "lack"))
        if rarer >= FEWEST_OF_EACH:
            return ()
        return (
            f"{rarer} of {len(self.features)} images {word} it: below {FEWEST_OF_EACH} the "
            "interval covers the true value less often than its level says",
        )

    @cached_property
    def absent(self) -> str:
        """Why there is no interval; "" where there is one."""
        images, encoder = self.features, self.instruments.encoder
        if len(images) < FEWEST_IMAGES:
            return f"WALS needs {FEWEST_IMAGES} images, there are {len(images)}"
        if alike(images):
            return f"all {len(images)} images are the same to encoder {encoder!r}: no variety"
        if self.rank is not None and self.rank > min(images.shape):
            return f"rank {self.rank} is more than {len(images)} images have ({min(images.shape)})"
        return "" if self.vector is not None else self._directionless

    @property
    def _directionless(self) -> str:
        """Why there is no direction."""
        name, encoder = self.attribute.name, self.instruments.encoder
        if self.direction != "text":
            return f"images of the descriptions of {name!r} show no difference to {encoder!r}"
        if any(text is None for text in self._texts):
            return f"encoder {encoder!r} has no features of texts"
        return f"the descriptions of {name!r} are the same to encoder {encoder!r}"

    @property
    def descriptions(self) -> str:
        """Digest of the attribute's descriptions."""
        return digest([self.attribute.positive, self.attribute.negative])

    def _sure_interval_at(self, level: float) -> Interval:
        interval = self.interval_at(level)
        if interval is None:
            raise ValueError(f"there is no interval: {self.absent}")
        return interval

    @property
    def _digest(self) -> str:
        vector = [] if self.vector is None else self.vector.tolist()
        how = [self.instruments.seed, self.level, self.center, self.rank]
        return digest([METHOD, self.encoder_fingerprint, self.checksums, vector, *how])

    @cached_property
    def _texts(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Unit features of the descriptions; None where the encoder has no text features."""
        read = self.observations.text_features
        present, absent = (
            read(self.instruments.encoder, description.text)
            for description in described(self.attribute)
        )
        if present is None or absent is None:
            return None, None
        return unit_features(present), unit_features(absent)


def variety_of(
    sample: DetectedPrompt,
    attribute: Attribute,
    direction: str,
    *,
    center: bool = False,
    rank: int | None = None,
) -> Variety:
    """Return the variety of a sample's images along an attribute.

    Raises ConfigurationError where the marker did not ask for what it needs.
    """
    return Variety(
        sample.prompt, sample.seeds, sample.observations, sample.observed, sample.level,
        attribute, direction, center, rank,
    )  # fmt: skip


def mean_of(several: Sequence[Variety], level: float) -> Measurement:
    """Return the mean over prompts; intervals are about new images of these prompts."""
    if len(several) == 1:
        return several[0].wals
    intervals = [variety.interval for variety in several]
    known = [interval for interval in intervals if interval is not None]

    def interval_at(level: float) -> Interval:
        return mean_wals_interval(known, level)

    missing = next((variety.absent for variety in several if variety.interval is None), "")
    change = partial(mean_variety_change, several)
    whole = interval_at(level) if known and not missing else None
    return Measurement(
        metric=INFO["wals"],
        subject=f"model along {several[0].id.removeprefix(f'{several[0].prompt.id}-')}",
        is_of_model=True,
        interval=whole,
        images=sum(len(variety.features) for variety in several),
        evidence=inverted(interval_at, "lower") if whole else None,
        absent=missing,
        remarks=(f"mean over {len(several)} prompts, by {several[0].instruments.encoder}",),
        change=change,
    )
