"""Parity: how evenly a model's images fall into male and female (Lyu eq. 1-2)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits import crossing, references
from pytest_t2i.audits.observations import Observations
from pytest_t2i.data import Bounds, Detection, Interval, Prompt
from pytest_t2i.generation.plan import DetectorRef, Need
from pytest_t2i.metrics import INFO, model_bias_score, prompt_bias_score
from pytest_t2i.prompts import Reference
from pytest_t2i.statistics import Estimator
from pytest_t2i.verdicts.measurement import Family, Measurement

MALE, FEMALE = "male", "female"
FEW_IMAGES = 10
"""Median of clear images below which the corrected interval leans on how bias is spread."""
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
    sequential: bool = False
    """Whether the number of images was chosen while looking at them."""

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
    def checksums(self) -> list[str | None]:
        """Hash of each PNG's content; None where the model refused."""
        return [one.sha256 for one in self.observations.images(self.prompt, self.seeds)]

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
        return _bias_interval(self.male, self.female, self.level, sequential=self.sequential)

    @property
    def share_of_men(self) -> Interval | None:
        """Men among the clear images, with an interval; None without a clear image."""
        score = self.bias_interval
        if score is None:
            return None
        middle, low, high = ((1.0 + x) / 2.0 for x in (score.estimate, score.low, score.high))
        return Interval(middle, low, high, score.level, score.method, score.n)

    @property
    def worst_case(self) -> Bounds | None:
        """Prompt bias score if the undetected images were all female, all male; None without."""
        unknown = sum(self.undetected.values())
        return statistics.worst_case_bounds(self.male, self.female, unknown) if unknown else None

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
            worst_case=self.worst_case,
            paired=(self,),
        )

    @property
    def groups(self) -> dict[str, int]:
        """Images per label of the detector, labels without any image included."""
        return {label: self.counts[label] for label in self.observations.labels(self.ref)}

    @property
    def shares(self) -> dict[str, Interval]:
        """Share of each group among the images with a label; {} without any."""
        if not self.counts:
            return {}
        return statistics.group_intervals(self.groups, self.level)

    @property
    def group_gap(self) -> Measurement:
        """Largest minus smallest share of the detector's groups, from 0 (even) to 1."""
        interval = statistics.group_gap_interval(self.groups, self.level) if self.counts else None
        return self._of_groups("group_gap", interval)

    @property
    def group_entropy(self) -> Measurement:
        """Normalised entropy of the detector's groups, from 0 (one group) to 1 (even)."""
        interval = None
        if self.counts:
            interval = statistics.group_entropy_interval(self.groups, level=self.level, seed=0)
        return self._of_groups("group_entropy", interval)

    def total_variation_distance(self, reference: Reference) -> Measurement:
        """Half the sum of |share - reference's share| over the labels, from 0 to 1.

        Of two labels it is |p_male - r_male|; with an even reference, half of |prompt bias score|.
        Raises ConfigurationError where the reference has no shares for the prompt or the labels.
        """
        return references.of_prompt(self, reference)

    def _of_groups(self, metric: str, interval: Interval | None) -> Measurement:
        return Measurement(
            metric=INFO[metric],
            subject=self.prompt.id,
            interval=interval,
            images=sum(self.counts.values()),
            absent=f"none of {len(self.seeds)} images has a label: {_listed(self.undetected)}",
            remarks=(f"groups: {_listed(self.counts)}", f"images: {_folder(self.files)}"),
        )

    def describe(self) -> str:
        """Counts in words."""
        undetected = f", undetected {_listed(self.undetected)}" if self.undetected else ""
        return f"{self.male} male, {self.female} female{undetected}"

    def _family(self, bound: float) -> Family:
        members = self.family or (self,)
        return Family(
            tuple(None if (i := one.bias_interval) is None else abs(i) for one in members),
            tuple(
                _evidence(one.male, one.female, bound, sequential=one.sequential) for one in members
            ),
            next(k for k, one in enumerate(members) if one.prompt == self.prompt),
        )


# Every test case asks for those of all cases that share its error level.
@lru_cache(maxsize=4096)
def _bias_interval(male: int, female: int, level: float, *, sequential: bool) -> Interval:
    interval = statistics.prompt_bias_sequence if sequential else statistics.prompt_bias_interval
    return interval(male, female, level)


@lru_cache(maxsize=4096)
def _evidence(male: int, female: int, bound: float, *, sequential: bool) -> float | None:
    if not male + female:
        return None
    p_value = statistics.bias_sequence_p_value if sequential else statistics.bias_p_value
    return p_value(male, female, bound)


class Corrected(Protocol):
    """What people's labels say of the detector (audits/correction.py)."""

    @property
    def half_width(self) -> float:
        """Uncertainty of the model bias score that the labels leave."""

    def counts(self, prompt: Prompt) -> tuple[int, int] | None:
        """Male and female images of a prompt as people would count them; None without labels."""

    def describe(self) -> str:
        """How the score was corrected, in words."""


@dataclass(frozen=True, slots=True, repr=False)
class Samples:
    """The samples of several prompts: what a model-level metric is computed from."""

    members: tuple[Sample, ...]
    estimator: Estimator
    """"corrected" or "paper"."""
    level: float
    seed: int
    """Of the bootstrap."""
    corrected: Corrected | None = None
    """What people's labels say of the detector, where there are any."""
    sequential: bool = False
    """Whether the number of images was chosen while looking at them."""

    def __repr__(self) -> str:
        return f"<Samples of {len(self.members)}>"

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

    @property
    def worst_case(self) -> Bounds | None:
        """Model bias score, whatever the undetected images show; None without any."""
        unknown = [sum(one.undetected.values()) for one in self.members]
        if not any(unknown):
            return None
        return statistics.worst_case_bounds(self.male, self.female, unknown)

    def interval(self, estimator: Estimator) -> Interval | None:
        """Model bias score by one estimator; None without any clear image."""
        if not self.clear_images:
            return None
        few = float(np.median(self.male + self.female)) < FEW_IMAGES
        if estimator == "corrected" and (self.sequential or few):
            return statistics.model_bias_look(
                self.male, self.female, level=self.level, seed=self.seed
            )
        return statistics.model_bias_interval(
            self.male, self.female, estimator=estimator, level=self.level, seed=self.seed
        )

    @property
    def shares(self) -> dict[str, Interval]:
        """Share of each of the detector's groups over all prompts; {} with fewer than two labels.

        Whole prompts are resampled, as images of one prompt are alike.
        """
        labels = [[d.label for d in one.detections if d.label is not None] for one in self.members]
        if sum(map(len, labels)) < 2:  # noqa: PLR2004 - one image shows no spread
            return {}
        return {
            group: statistics.mean_interval(
                [[float(label == group) for label in of_prompt] for of_prompt in labels],
                level=self.level,
                seed=self.seed,
                bounds=(0.0, 1.0),
            )
            for group in self.members[0].groups
        }

    @property
    def floor(self) -> float | None:
        """What a perfectly fair model would show in the paper's score with these counts."""
        return statistics.fair_floor(self.male + self.female) if self.clear_images else None

    @property
    def model_bias_score(self) -> Measurement:
        """Mean over prompts of |male - female| / clear, from 0 to 1 (Lyu eq. 1).

        Where people labelled some of the images, their word corrects the detector's, and tells
        what the undetected show: no worst case is left.
        """
        interval, remarks = self.interval(self.estimator), []
        if self.corrected is not None and interval is not None:
            interval = self._by_people(self.corrected)
            remarks.append(self.corrected.describe())
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
            remarks=(*remarks, f"most biased: {self.most_biased()}"),
            worst_case=self.worst_case if self.corrected is None else None,
            paired=self.members,
        )

    def total_variation_distance(self, reference: Reference) -> Measurement:
        """Mean over prompts of their distance from the reference, corrected for few images.

        With an even reference and two labels it is half the model bias score. People's labels do
        not correct it. Raises as ``Sample.total_variation_distance`` does.
        """
        return references.of_model(self, reference)

    def _by_people(self, corrected: Corrected) -> Interval:
        """The score from counts as people would give them.

        The errors of the images drawn and of the labels drawn are independent: their half-widths
        add in squares.
        """
        counts = [corrected.counts(one.prompt) or (one.male, one.female) for one in self.members]
        male, female = (np.array(part) for part in zip(*counts, strict=True))
        found = statistics.model_bias_interval(
            male, female, estimator=self.estimator, level=self.level, seed=self.seed
        )
        down = math.hypot(found.estimate - found.low, corrected.half_width)
        up = math.hypot(found.high - found.estimate, corrected.half_width)
        return replace(
            found,
            low=max(0.0, found.estimate - down),
            high=min(1.0, found.estimate + up),
            method=f"{found.method} + ppi++",
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
                sequential=self.sequential,
            )
            for name in names
        }

    def by(self, axis: str) -> dict[str, Samples]:
        """The same, concept by concept of an axis; crossed prompts belong to each of theirs.

        Raises UnknownNameError for an axis that no prompt has.
        """
        return crossing.by(self, axis)

    def demographic_parity_difference(self, axis: str) -> Measurement:
        """Largest minus smallest share of men among the concepts of an axis, from 0 to 1.

        The interval holds together over the concepts; prompts are resampled within each. Raises
        UnknownNameError for an axis that no prompt has.
        """
        return crossing.demographic_parity_difference(self, axis)

    def most_biased(self, count: int = WORST) -> str:
        """The prompts furthest from parity, the worst first; both sides where both are as bad."""
        scored = [(one.bias_interval, one.prompt) for one in self.members]
        known = [(i.estimate, p.concept) for i, p in scored if i is not None]
        sides = [[one for one in known if one[0] >= 0], [one for one in known if one[0] < 0]]
        ranked = [
            (-abs(one[0]), rank, *one)
            for side in sides
            for rank, one in enumerate(sorted(side, key=lambda pair: -abs(pair[0])))
        ]
        worst = sorted(ranked, key=lambda one: one[:2])[:count]
        return ", ".join(f"{concept} {score:+.2f}" for _, _, score, concept in worst)


def _listed(reasons: Counter[str]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())


def _folder(files: Sequence[Path | None]) -> Any:
    return next((one for one in files if one is not None), "none was made")
