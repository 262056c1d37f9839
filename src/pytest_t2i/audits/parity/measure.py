"""Parity: how evenly a model's images fall into male and female (Lyu eq. 1-2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts, Siblings, listed
from pytest_t2i.audits.evidence import SIDES, Beyond, by_ends, despite_equal_pictures, weaker
from pytest_t2i.audits.parity import early_stopping
from pytest_t2i.audits.parity.change import model_change, prompt_change
from pytest_t2i.audits.peoples_labels import covering_unsettled
from pytest_t2i.audits.summary import PromptScore
from pytest_t2i.data import Evidence, Interval, Prompt
from pytest_t2i.labels import LabelledSet
from pytest_t2i.metrics import INFO, model_bias_score, prompt_bias_score
from pytest_t2i.statistics.families import leans
from pytest_t2i.statistics.model import Estimator
from pytest_t2i.statistics.undetected import worst_case_counts
from pytest_t2i.verdicts.measurement import Family, Measurement

Counts = npt.NDArray[np.int64]
WORST = 5
"""Largest number of prompts named in a failure text."""


# one prompt


def of_prompt(sample: DetectedPrompt, siblings: Siblings[DetectedPrompt]) -> Measurement:
    """Measure (male - female) / clear, from -1 (all female) to 1 (all male) (Lyu eq. 2)."""
    return Measurement(
        metric=INFO["prompt_bias_score"],
        subject=sample.prompt.id,
        interval=prompt_interval(sample),
        paper=None if sample.corrected is not None else prompt_bias_score(*sample.judged),
        images=sample.clear if sample.corrected is None else None,
        family=siblings.family("prompt_bias_score", _family),
        place=siblings.places[sample.prompt.id],
        absent=sample.repeats.words
        or f"none of {len(sample.seeds)} images is clear: {listed(sample.undetected)}",
        remarks=(
            *_corrected_by(sample),
            f"images: {sample.folder}",
            f"detections: {sample.describe()}",
        ),
        worst_case=sample.worst_case if sample.corrected is None else None,
        change=lambda baseline, margin, level: prompt_change(
            sample, siblings, baseline, margin, level
        ),
    )


def prompt_interval(sample: DetectedPrompt) -> Interval | None:
    """Return the prompt bias score with its exact interval; None without a clear image.

    Where people labelled some of the images, it is the interval of the corrected counts, widened
    over all choices for the unsettled labels.
    """
    if sample.has_no_verdict:
        return None
    if sample.corrected is None:
        if not sample.clear:
            return None
        if sample.stopping is not None:
            return early_stopping.interval_of(sample)
        return _interval(sample.male, sample.female, sample.level)
    interval, *alternatives = (
        _interval(male, female, sample.level)
        for male, female in (sample.corrected.settled, *sample.corrected.fillings)
    )
    low, high = (
        min(candidate.low for candidate in (interval, *alternatives)),
        max(candidate.high for candidate in (interval, *alternatives)),
    )
    return replace(interval, low=low, high=high, method=f"{interval.method} + ppi++")


def prompt_score(sample: DetectedPrompt) -> PromptScore:
    """Return what run.json keeps of the prompt."""
    interval = prompt_interval(sample)
    if sample.corrected is None:
        return PromptScore(interval, sample.worst_case)
    by_detector = prompt_bias_score(sample.male, sample.female)
    return PromptScore(interval, None, by_detector, dict(sample.corrected.labels))


def _corrected_by(sample: DetectedPrompt) -> Iterator[str]:
    """Yield a remark on the correction by people's labels and on the uncorrected score."""
    if sample.few_labels:
        yield sample.few_labels
    if sample.corrected is not None:
        plain = prompt_bias_score(sample.male, sample.female)
        beside = "no clear image" if plain is None else f"{plain:+.3f}"
        yield f"{sample.corrected.how}; uncorrected: {beside}"


def share_of_men(sample: DetectedPrompt) -> Interval | None:
    """Return the share of men among the clear images; None without a clear image."""
    score = prompt_interval(sample)
    if score is None:
        return None
    middle, low, high = ((1.0 + x) / 2.0 for x in (score.estimate, score.low, score.high))
    return Interval(middle, low, high, score.level, score.method, score.n)


def _family(members: Sequence[DetectedPrompt]) -> Family:
    intervals = (prompt_interval(sample) for sample in members)

    def evidence(bound: float, level: float) -> list[Evidence]:
        return despite_equal_pictures(
            members, lambda counted: _family_evidence(counted, bound, level)
        )

    male, female = (np.array(side) for side in zip(*(s.judged for s in members), strict=True))
    return Family(
        tuple(None if interval is None else abs(interval) for interval in intervals),
        evidence,
        lambda bound: _leans(male, female, bound),
    )


def _family_evidence(
    members: Sequence[DetectedPrompt], bound: float, level: float
) -> list[Evidence]:
    male, female = (np.array(side) for side in zip(*(s.judged for s in members), strict=True))
    # A correction by people's labels covers the undetected images.
    unknown = np.array(
        [0 if s.corrected is not None or s.has_no_verdict else s.unknown for s in members]
    )
    stopping = any(sample.stopping is not None for sample in members)
    stopped_evidence = early_stopping.evidence_of(members, bound, level) if stopping else None
    if stopped_evidence is not None:
        return stopped_evidence
    p_values = early_stopping.at_any_look if stopping else _p_values
    ways = [(male, female, unknown), *((m, f, unknown) for m, f in _fillings(members))]
    return _weakest([_evidence(p_values, way, bound, level) for way in ways])


def _fillings(members: Sequence[DetectedPrompt]) -> Iterator[tuple[Counts, Counts]]:
    """Yield the counts of all prompts for each way of filling in the unsettled labels."""
    fillings = [s.corrected.fillings if s.corrected is not None else () for s in members]
    for way in range(max(map(len, fillings), default=0)):
        counts = [
            member_fillings[way] if way < len(member_fillings) else s.judged
            for s, member_fillings in zip(members, fillings, strict=True)
        ]
        male, female = (np.array(side) for side in zip(*counts, strict=True))
        yield male, female


def _weakest(ways: Sequence[list[Evidence]]) -> list[Evidence]:
    """Return the weakest evidence of each prompt over all ways of filling in unsettled labels."""
    return [reduce(weaker, prompt_evidence) for prompt_evidence in zip(*ways, strict=True)]


def _leans(male: Counts, female: Counts, bound: float) -> list[float] | None:
    chances = leans(male, female, bound)
    return None if chances is None else chances.tolist()


PValues = Callable[[Counts, Counts, float, float, Beyond], list[float]]
"""(male, female, bound, level, alternative) -> p-value of each prompt; those for "beyond" are
adjusted for the number of prompts."""


def _evidence(
    p_values: PValues, counts: tuple[Counts, Counts, Counts], bound: float, level: float
) -> list[Evidence]:
    """Return evidence that holds in the worst case, and that of the labelled images alone."""
    male, female, unknown = counts
    beyond, within = (
        p_values(*worst_case_counts(*counts, side), bound, level, side) for side in SIDES
    )
    if not unknown.any():
        return list(map(Evidence, beyond, within))
    alone = zip(*(p_values(male, female, bound, level, side) for side in SIDES), strict=True)
    labelled = [pair if any_ else None for pair, any_ in zip(alone, unknown, strict=True)]
    return list(map(Evidence, beyond, within, labelled))


def _p_values(
    male: Counts, female: Counts, bound: float, level: float, alternative: Beyond
) -> list[float]:
    if alternative == "beyond":
        return list(map(float, statistics.family_p_values(male, female, bound, level=level)))
    return list(map(float, statistics.prompt_bias_p_values(male, female, bound, "within")))


# The prompts of a run share few different counts.
@lru_cache(maxsize=4096)
def _interval(male: int, female: int, level: float) -> Interval:
    return statistics.prompt_bias_interval(male, female, level, method="blaker")


# the model


class JudgedScore(Protocol):
    """A model bias score with its interval and evidence."""

    def interval(self, level: float) -> Interval:
        """Return the score with its interval."""

    def evidence(self, bound: float, level: float) -> Evidence:
        """Return one-sided p-values of a bound."""


class Corrected(Protocol):
    """A correction of the detector's counts by people's labels (audits/parity/correction.py)."""

    def of_model(self, estimator: Estimator) -> JudgedScore | None:
        """Return the score by labels drawn for the model; None where prompts are corrected."""

    def counts(self, prompt: Prompt) -> tuple[int, int] | None:
        """Return (male, female) of as many images as would give the same certainty unlabelled.

        Returns None for a prompt with too few labels.
        """

    def describe(self) -> str:
        """Return in words how the score was corrected."""

    @property
    def labelled(self) -> LabelledSet | None:
        """The labelled images."""

    @property
    def fillings(self) -> Sequence[Corrected]:
        """The corrections with unsettled labels filled in, one per way of filling."""


def of_model(
    samples: DetectedPrompts,
    estimator: Estimator,
    corrected: Corrected | None,
    few_labels: str = "",
) -> Measurement:
    """Measure the mean over prompts of |male - female| / clear, from 0 to 1 (Lyu eq. 1).

    Where people labelled some of the images, their labels correct the detector's and stand in for
    the undetected images, so that no worst case is left; ``few_labels`` says why they cannot.
    """
    if few_labels:
        metric = INFO["model_bias_score"]
        return Measurement(metric, "model", None, absent=few_labels, is_of_model=True)
    measurement = _of_model(samples, estimator, corrected)
    if corrected is None or corrected.labelled is None:
        return measurement
    alternatives = [_of_model(samples, estimator, filling) for filling in corrected.fillings]
    return covering_unsettled(measurement, alternatives, corrected.labelled)


def _of_model(
    samples: DetectedPrompts, estimator: Estimator, corrected: Corrected | None
) -> Measurement:
    drawn_for_it = None if corrected is None else corrected.of_model(estimator)
    score: JudgedScore = drawn_for_it or ModelScore.of(samples, estimator, corrected)
    metric = INFO["model_bias_score"]
    evidence: Callable[[float, float], Evidence] = score.evidence
    despite = None
    if corrected is None:
        evidence = _model_evidence(samples, estimator)
        evidence, despite = samples.despite_repeats(
            evidence, int(np.count_nonzero(samples.male + samples.female)), metric
        )
    # With people's labels the detector's own score stands in the remarks alone.
    plain = model_bias_score(samples.male, samples.female) if samples.clear_images else None
    return Measurement(
        metric=metric,
        subject="model",
        is_of_model=True,
        interval=score.interval(samples.level) if samples.clear_images else None,
        paper=plain if corrected is None else None,
        floor=floor_of_samples(samples) if corrected is None else None,
        # More images do not narrow an interval about other words or a detector's errors.
        images=samples.images if samples.words == "fixed" and corrected is None else None,
        evidence=evidence,
        despite_repeats=despite,
        absent=samples.repeats.words or f"none of {samples.images} images is clear",
        remarks=(
            *_model_corrected_by(samples, estimator, corrected),
            f"most biased: {most_biased(samples)}",
        ),
        worst_case=samples.worst_case if corrected is None else None,
        change=lambda baseline, margin, level: model_change(
            samples, estimator, baseline, margin, level
        ),
    )


def _model_evidence(
    samples: DetectedPrompts, estimator: Estimator
) -> Callable[[float, float], Evidence]:
    def evidence(bound: float, level: float) -> Evidence:
        (model_evidence,) = despite_equal_pictures(
            [samples],
            lambda ways: [ModelScore.of(s, estimator, None).evidence(bound, level) for s in ways],
        )
        return model_evidence

    return evidence


def _model_corrected_by(
    samples: DetectedPrompts, estimator: Estimator, corrected: Corrected | None
) -> Iterator[str]:
    if corrected is not None and samples.clear_images:
        uncorrected = ModelScore.of(samples, estimator, None).interval(samples.level)
        yield f"{corrected.describe()}; uncorrected: {uncorrected.estimate:.3f}"


def model_interval(samples: DetectedPrompts, estimator: Estimator) -> Interval | None:
    """Return the model bias score by one estimator; None without any clear image."""
    if not samples.clear_images:
        return None
    return ModelScore.of(samples, estimator, None).interval(samples.level)


@dataclass(frozen=True, slots=True)
class ModelScore:
    """The counts behind a model bias score, with its interval and evidence."""

    male: Counts
    female: Counts
    samples: DetectedPrompts
    estimator: Estimator
    method: str = ""
    """How the counts were corrected; this is added to the interval's method."""

    @classmethod
    def of(
        cls, samples: DetectedPrompts, estimator: Estimator, corrected: Corrected | None
    ) -> ModelScore:
        """Make the score from the detector's counts, or from the corrected ones."""
        if corrected is None:
            return cls(samples.male, samples.female, samples, estimator)
        counts = [corrected.counts(s.prompt) or (s.male, s.female) for s in samples]
        male, female = (np.array(part) for part in zip(*counts, strict=True))
        return cls(male, female, samples, estimator, " + ppi++")

    def interval(self, level: float) -> Interval:
        """Return the score with its interval; a run that may stop early has that of its look."""
        how = {"level": level, "seed": self.samples.seed, "words": self.samples.words}
        interval = statistics.model_bias_interval(
            self.male,
            self.female,
            estimator=self.estimator,
            **how,  # type: ignore[arg-type]
        )
        return replace(interval, method=interval.method + self.method)

    def evidence(self, bound: float, level: float) -> Evidence:
        """Return one-sided p-values that hold whatever the undetected images show.

        A run that may stop early uses the level of its look. With people's labels there is no worst
        case.
        """
        unknown = self.samples.unknown
        beyond, within = (self.p_value(bound, level, side) for side in SIDES)
        if self.method or not unknown.any():
            return Evidence(beyond, within)
        worst = (self.at_worst(unknown, side).p_value(bound, level, side) for side in SIDES)
        return Evidence(next(worst), next(worst), labelled=(beyond, within))

    def at_worst(self, unknown: Counts, alternative: Beyond) -> ModelScore:
        """Return the score with undetected images labelled so as to weaken an alternative most."""
        men, women = worst_case_counts(self.male, self.female, unknown, alternative)
        return replace(self, male=men, female=women)

    def p_value(self, bound: float, level: float, alternative: Beyond) -> float:
        """Return the p-value of one alternative, by these counts."""
        if self.samples.sequential:
            look = by_ends(self.interval, lambda _: self.samples.level)(bound, level)
            p_value = look.beyond if alternative == "beyond" else look.within
            return 1.0 if p_value is None else p_value
        return statistics.model_bias_p_value(
            self.male,
            self.female,
            bound,
            alternative="greater" if alternative == "beyond" else "less",
            estimator=self.estimator,
            words=self.samples.words,
            seed=self.samples.seed,
        )


def floor_of_samples(samples: DetectedPrompts) -> float | None:
    """Return the mean of the paper's score for a perfectly fair model with as many images."""
    return statistics.fair_floor(samples.male + samples.female) if samples.clear_images else None


def most_biased(samples: DetectedPrompts, count: int = WORST) -> str:
    """Return the prompts furthest from parity in words, worst first; on ties, both sides."""
    scored = [(prompt_bias_score(*s.judged), s.prompt.name) for s in samples]
    scores = [(score, concept) for score, concept in scored if score is not None]
    sides = [[pair for pair in scores if pair[0] >= 0], [pair for pair in scores if pair[0] < 0]]
    ranked = [
        (-abs(score), rank, score, concept)
        for side in sides
        for rank, (score, concept) in enumerate(sorted(side, key=lambda pair: -abs(pair[0])))
    ]
    worst = sorted(ranked, key=lambda entry: entry[:2])[:count]
    return ", ".join(f"{concept} {score:+.2f}" for _, _, score, concept in worst)
