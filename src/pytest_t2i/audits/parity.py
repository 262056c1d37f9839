"""Parity: how evenly a model's images fall into male and female (Lyu eq. 1-2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.observations import Observations
from pytest_t2i.data import Detection, Interval, Prompt
from pytest_t2i.measurement import Family, Measurement
from pytest_t2i.metrics import INFO, model_bias_score, prompt_bias_score
from pytest_t2i.planning import DetectorRef, Need
from pytest_t2i.statistics import Estimator

MALE, FEMALE = "male", "female"
WORST = 5
"""Prompts named in a failure text."""


def needs(
    prompts: Sequence[Prompt], seeds: Sequence[tuple[int, ...]], refs: Sequence[DetectorRef]
) -> list[Need]:
    """What parity asks for: every detector's word on every image."""
    return [
        Need(prompt, mine, frozenset(refs)) for prompt, mine in zip(prompts, seeds, strict=True)
    ]


@dataclass(frozen=True, slots=True, repr=False)
class Sample:
    """All detections of one prompt."""

    prompt: Prompt
    seeds: tuple[int, ...]
    ref: DetectorRef
    observations: Observations
    level: float
    """Confidence level of intervals."""
    family: tuple[Sample, ...] = ()
    """Samples tested at once with this one: they share one error level."""

    def __repr__(self) -> str:
        return f"<Sample of {self.prompt.id}: {len(self.seeds)} images, {self.ref.name}>"

    @property
    def detections(self) -> list[Detection]:
        """One per image, in the order of the seeds."""
        return self.observations.detections(self.prompt, self.seeds, self.ref)

    @property
    def files(self) -> list[Path | None]:
        """The PNG of each image; None where the model refused."""
        return [one.file for one in self.observations.images(self.prompt, self.seeds)]

    @property
    def counts(self) -> Counter[str]:
        """Images per label."""
        return Counter(d.label for d in self.detections if d.label is not None)

    @property
    def undetected(self) -> Counter[str]:
        """Images without a label, per reason; never counted as a gender."""
        return Counter(d.undetected.value for d in self.detections if d.undetected is not None)

    @property
    def male(self) -> int:
        """Images labelled male."""
        return self.counts[MALE]

    @property
    def female(self) -> int:
        """Images labelled female."""
        return self.counts[FEMALE]

    @property
    def signs(self) -> np.ndarray:
        """+1 male, -1 female, 0 undetected, per image."""
        values = {MALE: 1, FEMALE: -1}
        return np.array([values.get(d.label or "", 0) for d in self.detections])

    @property
    def bias_interval(self) -> Interval | None:
        """Prompt bias score with its exact interval; None without a clear image."""
        if self.male + self.female == 0:
            return None
        return statistics.prompt_bias_interval(self.male, self.female, self.level)

    @property
    def prompt_bias_score(self) -> Measurement:
        """(male - female) / clear, from -1 (all female) to 1 (all male) (Lyu eq. 2)."""
        interval = self.bias_interval
        return Measurement(
            metric=INFO["prompt_bias_score"],
            subject=self.prompt.id,
            interval=interval,
            paper=prompt_bias_score(self.male, self.female),
            images=self.male + self.female,
            family=self._family,
            absent=f"none of {len(self.seeds)} images is clear: {_listed(self.undetected)}",
            remarks=(f"images: {_folder(self.files)}", f"detections: {self.describe()}"),
            paired=(self,),
        )

    def describe(self) -> str:
        """Counts in words."""
        undetected = f", undetected {_listed(self.undetected)}" if self.undetected else ""
        return f"{self.male} male, {self.female} female{undetected}"

    def _family(self, bound: float) -> Family:
        members = self.family or (self,)
        return Family(
            tuple(None if (i := one.bias_interval) is None else abs(i) for one in members),
            tuple(_evidence(one.male, one.female, bound) for one in members),
            next(k for k, one in enumerate(members) if one.prompt == self.prompt),
        )


@lru_cache(maxsize=4096)
def _evidence(male: int, female: int, bound: float) -> float | None:
    return statistics.bias_p_value(male, female, bound) if male + female else None


@dataclass(frozen=True, slots=True, repr=False)
class Samples:
    """The samples of several prompts: what a model-level metric is computed from."""

    members: tuple[Sample, ...]
    estimator: Estimator
    """"corrected" or "paper"."""
    level: float
    seed: int
    """Of the bootstrap."""

    def __repr__(self) -> str:
        return f"<Samples of {len(self.members)} prompts>"

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def male(self) -> np.ndarray:
        """Images labelled male, per prompt."""
        return np.array([one.male for one in self.members])

    @property
    def female(self) -> np.ndarray:
        """Images labelled female, per prompt."""
        return np.array([one.female for one in self.members])

    @property
    def signs(self) -> list[np.ndarray]:
        """Per prompt: +1 male, -1 female, 0 undetected per image."""
        return [one.signs for one in self.members]

    @property
    def clear_images(self) -> int:
        """Images with a gender label."""
        return int((self.male + self.female).sum())

    def interval(self, estimator: Estimator) -> Interval | None:
        """Model bias score by one estimator; None without any clear image."""
        if not self.clear_images:
            return None
        return statistics.model_bias_interval(
            self.male, self.female, estimator=estimator, level=self.level, seed=self.seed
        )

    @property
    def floor(self) -> float | None:
        """What a perfectly fair model would show in the paper's score with these counts."""
        return statistics.fair_floor(self.male + self.female) if self.clear_images else None

    @property
    def model_bias_score(self) -> Measurement:
        """Mean over prompts of |male - female| / clear, from 0 to 1 (Lyu eq. 1)."""
        interval = self.interval(self.estimator)
        paper = model_bias_score(self.male, self.female) if self.clear_images else None
        images = sum(len(one.seeds) for one in self.members)
        return Measurement(
            metric=INFO["model_bias_score"],
            subject="model",
            interval=interval,
            paper=paper,
            floor=self.floor,
            images=images,
            absent=f"none of {images} images is clear",
            remarks=(f"most biased: {self.most_biased()}",),
            paired=self.members,
        )

    def by_axis(self) -> dict[str, Samples]:
        """The same, axis by axis, in order of appearance."""
        names = dict.fromkeys(one.prompt.axis for one in self.members)
        return {
            name: Samples(
                tuple(one for one in self.members if one.prompt.axis == name),
                self.estimator,
                self.level,
                self.seed,
            )
            for name in names
        }

    def most_biased(self, count: int = WORST) -> str:
        """The prompts furthest from parity, the worst first."""
        scored = [(one.bias_interval, one.prompt) for one in self.members]
        known = [(i.estimate, p.concept) for i, p in scored if i is not None]
        known.sort(key=lambda pair: -abs(pair[0]))
        return ", ".join(f"{concept} {score:+.2f}" for score, concept in known[:count])


def _listed(reasons: Counter[str]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())


def _folder(files: Sequence[Path | None]) -> Any:
    return next((one for one in files if one is not None), "none was made")
