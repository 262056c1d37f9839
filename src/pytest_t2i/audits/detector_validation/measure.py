"""Detector evaluation: a detector's labels against people's (Lyu section 3.5, Tables 1 to 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detector_validation.change import recorded_trial, share_change
from pytest_t2i.data import Detection, Evidence, Interval, Undetected
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.labels import CLEAR, LabelledImage, LabelledSet
from pytest_t2i.metrics import (
    INFO,
    model_bias_score,
    prompt_bias_difference,
    prompt_bias_score,
)
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.detectors import FEWEST_PROMPTS, deviation_interval, f1_interval
from pytest_t2i.statistics.gaps import parity_difference_interval, parity_difference_p_value
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.measurement import Change, Measurement

MALE, FEMALE = CLEAR
WORST = 5
"""Largest number of mistakes named in a failure text."""


FEW = f"images of fewer than {FEWEST_PROMPTS} prompts are named in the labels"
"""Why there is no interval over prompts."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """An image on which the detector and people disagree."""

    image: LabelledImage
    detection: Detection
    """The detector's detection."""


def outcomes(
    metric: str,
    images: Iterable[LabelledImage],
    said: Iterable[str | Undetected],
    label: str | None = None,
) -> dict[str, bool]:
    """Return the images that a share is taken over, each with whether it counts."""
    outcome: dict[str, bool] = {}
    for image, word in zip(images, said, strict=True):
        is_kept = not isinstance(word, Undetected)
        counts, says = {
            "filter_precision": (is_kept, image.clear),
            "filter_recall": (image.clear, is_kept),
            "filter_rate": (not image.clear, not is_kept),
            "accuracy": (is_kept and image.clear, word == image.label),
        }[metric]
        if counts and label in (None, image.label):
            outcome[image.file] = says
    return outcome


@dataclass(frozen=True, repr=False)
class Trial:
    """One detector on one labelled set.

    >>> import pytest
    >>> from pytest_t2i import Trial, limit
    >>> @pytest.mark.t2i
    ... def test_it(trial: Trial) -> None:
    ...     assert trial.filter_recall >= limit("filter_recall", 0.8)
    """

    detector: str
    fingerprint: str
    labelled: LabelledSet
    detections: tuple[Detection, ...]
    """One detection per image, in the order of the set."""
    level: float
    """Confidence level of intervals."""
    seed: int
    """Seed of the bootstraps."""
    unsettled: str = ""
    """The pictures with an unsettled label, which ``labelled`` leaves out, in words; no verdict is
    given while there are any."""
    asked_twice: tuple[int, int] | None = None
    """(equal answers, images asked about twice); None for a function of the image."""

    def __repr__(self) -> str:
        return f"<Trial of {self.detector} on {several(len(self.labelled), 'image')}>"

    # counts

    @cached_property
    def said(self) -> list[str | Undetected]:
        """The detector's label per image, or the reason why it gives none."""
        return [detection.said for detection in self.detections]

    @cached_property
    def kept(self) -> np.ndarray:
        """Whether the detector gave a label, per image."""
        return np.array([detection.label is not None for detection in self.detections], dtype=bool)

    @cached_property
    def clear(self) -> np.ndarray:
        """Whether people gave the image a label of a group, per image."""
        return np.array([entry.clear for entry in self.labelled], dtype=bool)

    @cached_property
    def confusion(self) -> Counter[tuple[str, str | Undetected]]:
        """(people's label, the detector's label or reason) -> number of images."""
        labels = (image.label for image in self.labelled)
        return Counter(zip(labels, self.said, strict=True))

    @cached_property
    def mistakes(self) -> tuple[Mistake, ...]:
        """Kept images that are not clear, clear images filtered out, and wrong labels."""
        return tuple(
            Mistake(image, detection)
            for image, detection in zip(self.labelled, self.detections, strict=True)
            if (detection.label != image.label if image.clear else detection.label is not None)
        )

    # the filter (Lyu eq. 4-5)

    @property
    def filter_precision(self) -> Measurement:
        """Share of clear images among those kept (Lyu eq. 4)."""
        return self._share("filter_precision", "it kept no image")

    @property
    def filter_recall(self) -> Measurement:
        """Share of clear images that were kept (Lyu eq. 4)."""
        return self._share("filter_recall", "no image of the set is clear")

    @property
    def filter_rate(self) -> Measurement:
        """Share of low-quality images that were filtered out (Lyu eq. 5)."""
        return self._share("filter_rate", "the set has no low-quality image")

    @property
    def filter_f1(self) -> Measurement:
        """Harmonic mean of the filter's precision and recall (Lyu eq. 4)."""
        hits = int(np.sum(self.kept & self.clear))
        false_alarms, misses = (
            int(np.sum(self.kept & ~self.clear)),
            int(np.sum(~self.kept & self.clear)),
        )
        interval = None
        if hits + false_alarms + misses:
            interval = f1_interval(hits, false_alarms, misses, self.level)
        return self._measured("filter_f1", self.detector, interval, "nothing kept, nothing clear")

    # the classification (Lyu eq. 6)

    def accuracy(self, label: str | None = None) -> Measurement:
        """Return the share of right labels on images both clear and kept (Lyu eq. 6).

        Args:
            label: only among images that people gave this label; None for all.
        """
        return self._share("accuracy", "no image is both clear and kept", label)

    def kept_share(self, label: str) -> Interval | None:
        """Return the share of images with this label by people that get any label at all."""
        return self._share("filter_recall", "", label).interval

    @property
    def labels(self) -> tuple[str, ...]:
        """People's labels for clear images, such as male and female."""
        return self.labelled.vocabulary.clear

    # the scores (Lyu Tables 1 and 2), for male and female labels alone

    @cached_property
    def prompts(self) -> list[str]:
        """The prompts of the set that have a clear image, in order."""
        prompts = [image.prompt for image in self.labelled if image.clear and image.prompt]
        return list(dict.fromkeys(prompts))

    def counts(self, by_people: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the male and the female images per prompt, [n_prompts] each."""
        words = [image.label for image in self.labelled] if by_people else self.said
        counts = Counter(
            (image.prompt, word) for image, word in zip(self.labelled, words, strict=True)
        )
        return (
            np.array([counts[prompt, MALE] for prompt in self.prompts], dtype=int),
            np.array([counts[prompt, FEMALE] for prompt in self.prompts], dtype=int),
        )

    def model_bias_score(self, *, by_people: bool = False) -> float | None:
        """Return the paper's model bias score (Lyu eq. 1) by the detector or by people.

        Returns None without a clear image, or for labels other than male and female.
        """
        male, female = self.counts(by_people)
        if not self.is_gender or not np.any(male + female):
            return None
        return model_bias_score(male, female)

    @property
    def percent_deviation(self) -> Measurement:
        """Percent by which the detector's model bias score is off people's (Lyu Table 1).

        Raises ConfigurationError for labels other than male and female.
        """
        self._check_gender("percent_deviation")
        interval, why = None, FEW
        if len(self.prompts) >= FEWEST_PROMPTS:
            why = "one side has no clear image, or the actual score is 0"
            try:
                interval = deviation_interval(
                    *self.counts(by_people=False),
                    *self.counts(by_people=True),
                    level=self.level,
                )
            except ValueError:
                interval = None
        return self._measured("percent_deviation", self.detector, interval, why)

    @property
    def prompt_bias_difference(self) -> Measurement:
        """Mean absolute error of the detector's prompt bias scores (Lyu eq. 3).

        Raises ConfigurationError for labels other than male and female.
        """
        self._check_gender("prompt_bias_difference")
        differences = [
            [prompt_bias_difference([d], [a])]
            for d, a in zip(*map(self._scores, (False, True)), strict=True)
            if d is not None and a is not None
        ]
        interval = None
        if len(differences) >= FEWEST_PROMPTS:
            interval = statistics.mean_interval(differences, level=self.level)
        return self._measured("prompt_bias_difference", self.detector, interval, FEW)

    @property
    def is_gender(self) -> bool:
        """Whether the labels are male and female, which bias scores need."""
        return self.labelled.vocabulary.is_gender

    def _check_gender(self, metric: str) -> None:
        if not self.is_gender:
            raise ConfigurationError(
                f"{metric} needs male and female labels, but those of {self.labelled.folder} are "
                f"{', '.join(self.labels)}. Use trial.accuracy(label) and the filter's metrics."
            )

    def _scores(self, by_people: bool) -> list[float | None]:
        return [prompt_bias_score(m, f) for m, f in zip(*self.counts(by_people), strict=True)]

    @property
    def undetected_gap(self) -> Measurement:
        """Largest minus smallest share of clear images of a group that get no label."""
        groups = _hits_by_group(self, "filter_recall")
        return self._measured(
            "undetected_gap",
            self.detector,
            _gap(groups, self.level),
            "fewer than two groups have a clear image",
            evidence=partial(_gap_evidence, groups),
        )

    @property
    def self_agreement(self) -> Measurement:
        """Share of equal answers to images about which the detector was asked twice."""
        equal, images = self.asked_twice or (0, 0)
        interval = statistics.share_interval(equal, images, self.level) if images else None
        return self._measured(
            "self_agreement",
            self.detector,
            interval,
            "no image was asked about twice",
            evidence=lambda bound, _: Evidence(
                statistics.share_p_value(equal, images, bound, "below"),
                statistics.share_p_value(equal, images, bound, "above"),
            ),
        )

    # measurements

    def _share(self, metric: str, why: str, label: str | None = None) -> Measurement:
        yes = list(self.outcomes(metric, label).values())
        interval = None
        if yes:
            interval = statistics.share_interval(sum(yes), len(yes), self.level)
        subject = self.detector if label is None else f"{self.detector} on {label}"
        return self._measured(
            metric,
            subject,
            interval,
            why,
            evidence=lambda bound, _: Evidence(
                statistics.share_p_value(sum(yes), len(yes), bound, "below"),
                statistics.share_p_value(sum(yes), len(yes), bound, "above"),
            ),
            change=partial(self._change, metric, label),
        )

    def outcomes(self, metric: str, label: str | None = None) -> dict[str, bool]:
        """Return the images that a share is taken over, each with whether it counts."""
        return outcomes(metric, self.labelled, self.said, label)

    def _measured(
        self,
        metric: str,
        subject: str,
        interval: Interval | None,
        why: str,
        *,
        evidence: Callable[[float, float], Evidence] | None = None,
        change: Callable[[Baseline, float | None, float], Change] | None = None,
    ) -> Measurement:
        # Agreement with itself needs no label of people.
        unsettled = "" if metric == "self_agreement" else self.unsettled
        remarks = (unsettled, f"labelled set: {self.labelled.folder}", self._worst())
        return Measurement(
            metric=INFO[metric],
            subject=subject,
            interval=interval,
            images=interval.n if interval else None,
            evidence=(lambda *_: Evidence(1.0, 1.0)) if unsettled else evidence,
            absent=why,
            remarks=remarks[0 if unsettled else 1 :],
            change=change,
        )

    def _change(
        self, metric: str, label: str | None, baseline: Baseline, margin: float | None, level: float
    ) -> Change:
        if self.unsettled:
            return Change.absent_because(INFO[metric], margin or 0.0, self.unsettled)
        recorded = recorded_trial(baseline, self.detector, self.labelled.fingerprint)
        recorded_words = recorded.said
        words = [recorded_words[image.file] for image in self.labelled]
        return share_change(
            metric,
            outcomes(metric, self.labelled, words, label),
            self.outcomes(metric, label),
            margin,
            level,
            is_same=recorded.detector_fingerprint == self.fingerprint and words == self.said,
        )

    def _worst(self) -> str:
        mistakes = [
            f"{m.image.file} is {m.image.label}, said {m.detection.said}"
            for m in self.mistakes[:WORST]
        ]
        more = len(self.mistakes) - len(mistakes)
        rest = f" and {more} more" if more else ""
        return f"{len(self.mistakes)} mistakes: {'; '.join(mistakes)}{rest}"


FEWEST = 2
"""Smallest number of groups for a gap."""


def _gap(groups: Mapping[str, list[list[int]]], level: float) -> Interval | None:
    return parity_difference_interval(groups, level=level) if len(groups) >= FEWEST else None


def _hits_by_group(trial: Trial, metric: str) -> dict[str, list[list[int]]]:
    """Return whether each image of a group counts, as one prompt."""
    groups: Mapping[str, list[bool]] = {
        label: list(outcomes(metric, trial.labelled, trial.said, label).values())
        for label in trial.labels
    }
    return {label: [[int(flag) for flag in flags]] for label, flags in groups.items() if flags}


def _gap_evidence(groups: Mapping[str, list[list[int]]], bound: float, level: float) -> Evidence:
    del level
    return Evidence(
        parity_difference_p_value(groups, bound, alternative="greater"),
        parity_difference_p_value(groups, bound, alternative="less"),
    )
