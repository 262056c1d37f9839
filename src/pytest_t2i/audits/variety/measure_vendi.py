"""Diversity: the effective number of different images of a prompt (Vendi score)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.audits.evidence import inverted
from pytest_t2i.audits.prompt_features import PromptFeatures
from pytest_t2i.data import Interval, digest
from pytest_t2i.generation.plan import FEATURES
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics.diversity import (
    FEWEST_IMAGES,
    growth_interval,
    unlike_images,
    vendi_at_level,
    with_unseen,
)
from pytest_t2i.verdicts.measurement import Measurement

METHOD = 2
"""Version of the measurement; stored results of another version are not used."""


@dataclass(frozen=True, repr=False)
class Diversity(PromptFeatures):
    """The diversity of one prompt's images."""

    def __post_init__(self) -> None:
        self.instruments.require(FEATURES, None, "vendi_score")

    def __repr__(self) -> str:
        return f"<Diversity of {self.prompt.id}: {len(self.seeds)} images>"

    @cached_property
    def interval(self) -> Interval | None:
        """Vendi score with its interval; None with too few images."""
        return None if self._seen is None else with_unseen(self._seen, self._unlike)

    @cached_property
    def _seen(self) -> Interval | None:
        """The interval for the kinds that the images show."""
        if self.absent:
            return None
        return self.remembered(
            f"vendi:{self._digest}",
            lambda: growth_interval(self.features, level=self.level, seed=self.instruments.seed),
        )

    @cached_property
    def _unlike(self) -> float:
        """The number of images that are unlike all others."""
        return unlike_images(self.features)

    @property
    def vendi_score(self) -> Measurement:
        """The score, from 1 to the number of images; lower is worse."""
        known, seen = self.interval, self._seen

        def interval_at(level: float) -> Interval:
            if seen is None:
                raise ValueError(f"there is no interval: {self.absent}")
            return with_unseen(vendi_at_level(seen, level), self._unlike)

        return Measurement(
            metric=INFO["vendi_score"],
            subject=self.prompt.id,
            interval=known,
            images=len(self.features),
            evidence=inverted(interval_at, "lower") if known else None,
            absent=self.absent,
            remarks=(f"of {len(self.features)} images, by {self.instruments.encoder}",),
        )

    @property
    def absent(self) -> str:
        """Why there is no interval; "" where there is one."""
        if len(self.features) >= FEWEST_IMAGES:
            return ""
        return f"the Vendi score needs {FEWEST_IMAGES} images, there are {len(self.features)}"

    @property
    def _digest(self) -> str:
        how = [self.instruments.seed, self.level]
        return digest([METHOD, self.encoder_fingerprint, self.checksums, *how])


def diversity_of(sample: DetectedPrompt) -> Diversity:
    """Return the diversity of a sample's images.

    Raises ConfigurationError where their features were not observed.
    """
    return Diversity(
        sample.prompt, sample.seeds, sample.observations, sample.observed, sample.level
    )
