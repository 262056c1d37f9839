"""The change of a score against a baseline: of prompts and of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.engine.detected import DetectedPrompt, DetectedPrompts
from pytest_t2i.audits.engine.evidence import adjusted, of_either
from pytest_t2i.audits.engine.score import Labels, MeanChange, Score, Tally
from pytest_t2i.data import TIE, Evidence, Interval, Limit, Outcome, Undetected, Verdict
from pytest_t2i.errors import some
from pytest_t2i.statistics.change import bounded_by_pairs
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt
from pytest_t2i.verdicts.measurement import (
    TOLERATED,
    Change,
    Family,
    LabelCounts,
    MovedPrompt,
    unchanged,
)

REASON = "largest worsening tolerated against the baseline"
BY_DEFAULT = "tolerated by default: no margin is stated in the limits"
LIKELY = 0.5
"""Smallest probability at which a prompt is named as changed."""
UNPAIRED = "compared as unpaired images: the endpoint draws every picture anew, whatever its seed"
VISIBLE = 0.0005
"""Smallest difference of two scores that is seen with three digits."""
THINNED = (
    "before and now are scores at as many images of each prompt as both runs have; the score of "
    "all images of a run alone differs"
)
BY_SEED = "compared image by image: both runs have the same seeds"
BY_PROMPT = (
    "compared prompt by prompt: the seeds are not the baseline's; with the same seeds "
    "smaller changes would be found"
)
NAMED = 8
"""Largest number of prompts named on each side."""


@dataclass(frozen=True)
class Pairs:
    """Prompts of a run, each with its record in a baseline, as a score counts them."""

    score: Score[DetectedPrompt]
    samples: Sequence[DetectedPrompt]
    baseline: Baseline

    def __iter__(self) -> Iterator[tuple[RecordedPrompt, DetectedPrompt]]:
        return zip(self.recorded, self.samples, strict=True)

    @cached_property
    def recorded(self) -> list[RecordedPrompt]:
        """The record of each prompt, in order."""
        return [self.baseline.prompts[sample.prompt.text] for sample in self.samples]

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The counted labels; images with another one count as undetected."""
        return self.score.groups or tuple(self.samples[0].groups)

    @cached_property
    def labels(self) -> tuple[Labels, Labels]:
        """Number of each image's group, -1 for undetected, per prompt: recorded, and of now."""
        recorded = [self._numbers(prompt.said) for prompt in self.recorded]
        return recorded, [self._numbers([d.label for d in s.detections]) for s in self.samples]

    def _numbers(self, words: Sequence[str | Undetected | None]) -> np.ndarray:
        places = {group: place for place, group in enumerate(self.groups)}
        return np.array([places.get(word, -1) for word in words], dtype=int)  # type: ignore[arg-type]

    @cached_property
    def sides(self) -> list[tuple[Tally, Tally]]:
        pairs = zip(*self.labels, strict=True)
        return [(self._tally(before), self._tally(after)) for before, after in pairs]

    def _tally(self, numbers: np.ndarray) -> Tally:
        return Tally.even(np.bincount(numbers[numbers >= 0], minlength=len(self.groups)))

    @property
    def counts(self) -> tuple[np.ndarray, ...]:
        """Images of each prompt by group, first as recorded, then of this run."""
        return tuple(np.array([(*old.counts, *new.counts) for old, new in self.sides]).T)

    @property
    def share_seeds(self) -> bool:
        """Whether every prompt has the recorded seeds, and seeds determine pictures."""
        alike = all(recorded.seeds == sample.seeds for recorded, sample in self)
        return alike and not self.are_drawn_anew

    @property
    def are_drawn_anew(self) -> bool:
        if not self.samples:
            return False
        observations = self.samples[0].observations
        return observations.draws_anew(
            self.baseline.model_fingerprint, observations.model_fingerprint
        )

    @property
    def are_identical(self) -> bool:
        """Whether the same model made the same images, so that nothing needs to be estimated."""
        if not self.samples:
            return False
        model = self.samples[0].observations.model_fingerprint
        return (
            model == self.baseline.model_fingerprint
            and self.share_seeds
            and all(
                [None if isinstance(word, Undetected) else word for word in recorded.said]
                == [detection.label for detection in sample.detections]
                for recorded, sample in self
            )
        )

    def narrowed(self, change: Interval) -> Interval:
        """Return the change of the mean, narrowed where few images of equal seeds differ.

        Only where every image has a label, and prompts have equal numbers of images.
        """
        every = [*zip(*self.labels, strict=True)]
        sizes = {len(old) for old, _ in every}
        if not self.share_seeds or len(sizes) > 1 or any(np.any(n < 0) for p in every for n in p):
            return change
        moved = sum(int(np.count_nonzero(old != new)) for old, new in every)
        return bounded_by_pairs(change, moved, len(every) * sizes.pop(), self.score.reach)

    def thinned(self, change: MeanChange | None) -> tuple[str, ...]:
        """A remark where a side has more images, so that its score is not that of its own run."""
        if change is None:
            return ()
        sides = ([pair[k] for pair in self.sides if min(t.n for t in pair)] for k in (0, 1))
        means = [self.score.mean(side, change.interval.level).estimate for side in sides]
        is_equal = np.abs(np.array(means) - [change.before, change.after]) < VISIBLE
        return () if np.all(is_equal) else (THINNED,)

    # which of them changed

    def evidence(self, place: int, margin: float, level: float) -> Evidence:
        """Return evidence that a prompt got worse by more than the margin, and that it did not."""

        def change_at(level: float) -> Interval:
            change = self.score.change(*self.sides[place], level)
            if change is None:
                raise ValueError(f"expected labels on both sides of prompt {place}")
            return change

        old, new = (side[place] for side in self.labels)
        paired = self.recorded[place].seeds == self.samples[place].seeds and not self.are_drawn_anew
        evidence = self.score.change_evidence(
            (old, new), margin, change_at(statistics.one_sided(level)), paired=paired
        )
        return evidence or of_either(partial(statistics.inverted_p_value, change_at, margin))

    @cached_property
    def moved(self) -> tuple[MovedPrompt, ...] | None:
        """Prompts that probably got worse, the likeliest first; None with too few prompts.

        The probabilities are those of empirical Bayes over all prompts.
        """
        growing = self.score.growth_probabilities
        probabilities = growing(*self.counts) if growing is not None and self.samples else None
        if probabilities is None:
            return None
        ranked = sorted(zip(probabilities.tolist(), self, strict=True), key=lambda pair: -pair[0])
        return tuple(
            MovedPrompt(sample.prompt.id, p, _counts(recorded), _counts(sample))
            for p, (recorded, sample) in ranked
            if p >= LIKELY
        )

    def remarks(self, margin: float, level: float) -> tuple[str, ...]:
        """Return remarks on prompts that probably got worse, else on changes beyond the margin."""
        if self.moved is None:
            return self._moves(margin, level)
        if not self.moved:
            return (f"no prompt is likely to have become {self.score.further}",)
        names = {sample.prompt.id: sample.prompt.name for sample in self.samples}
        text = some(
            [f"{names[prompt.id]} {prompt.probability:.2f}" for prompt in self.moved], NAMED
        )
        return (f"probably {self.score.further} (probability): {text}",)

    def _moves(self, margin: float, level: float) -> tuple[str, ...]:
        if self.score.growth_probabilities is None:
            return ()
        moves = sorted(
            (
                (change.estimate, f"{sample.prompt.name} {change.estimate:+.2f}")
                for sample, sides in zip(self.samples, self.sides, strict=True)
                if (change := self.score.change(*sides, level)) is not None
            ),
            reverse=True,
        )
        worse = [name for move, name in moves if move > margin][:NAMED]
        better = [name for move, name in reversed(moves) if move < -margin][:NAMED]
        sides = {"got worse": worse, "got better": better}
        return tuple(f"{what}: {', '.join(names)}" for what, names in sides.items() if names)

    @property
    def unpaired(self) -> tuple[str, ...]:
        """A remark where the model ignores seeds, so that images are not compared by seed."""
        return (UNPAIRED,) if self.are_drawn_anew else ()

    @property
    def pairing(self) -> str:
        """A remark on whether images are compared by seed or by prompt."""
        if self.are_drawn_anew:
            return UNPAIRED
        return BY_SEED if self.share_seeds else BY_PROMPT


def _counts(prompt: RecordedPrompt | DetectedPrompt) -> LabelCounts:
    undetected = len(prompt.seeds) - prompt.male - prompt.female
    return LabelCounts(prompt.male, prompt.female, undetected)


def _identical(limit: Limit, images: int) -> Change:
    message = "identical: the same model and the same images as recorded"
    return unchanged(limit, images, message)._replace(decided_by="identical pictures")


def prompt_change(
    score: Score[DetectedPrompt],
    sample: DetectedPrompt,
    baseline: Baseline,
    margin: float | None,
    level: float,
) -> Change:
    """Compare a prompt with its recorded images; the prompts of one test share an error level."""
    tolerated = score.margin if margin is None else margin
    limit = Limit(score.metric.name, tolerated, REASON)
    pairs = Pairs(score, [sample], baseline)
    values = [score.interval(tally, sample.level) for tally in pairs.sides[0]]
    before, after = (None if value is None else abs(value.estimate) for value in values)
    if pairs.are_identical:
        return _identical(limit, len(sample.seeds))._replace(before=before, after=after)
    name = ("change", score.key, tolerated, id(baseline))
    family = sample.together.family(name, partial(_family, score, baseline, tolerated))
    verdict = family.verdicts(limit, "higher", level)[sample.together.places[sample.id]]
    # The family's message is about a score beyond a limit; this is a change.
    verdict = replace(verdict, message="")
    remarks = (*pairs.remarks(tolerated, sample.level), *pairs.unpaired)
    return Change(verdict, verdict.interval, score.incomparable, remarks, before, after)


def _family(
    score: Score[DetectedPrompt],
    baseline: Baseline,
    margin: float,
    members: Sequence[DetectedPrompt],
) -> Family:
    pairs = Pairs(score, members, baseline)
    intervals = tuple(score.change(*sides, members[0].level) for sides in pairs.sides)

    def evidence(_: float, level: float) -> list[Evidence]:
        return adjusted(
            [
                None if interval is None else pairs.evidence(place, margin, level)
                for place, interval in enumerate(intervals)
            ]
        )

    return Family(intervals, evidence)


def model_change(
    score: Score[DetectedPrompt],
    samples: DetectedPrompts,
    baseline: Baseline,
    margin: float | None,
    level: float,
) -> Change:
    """Compare the model with its recorded images.

    PASS needs the upper end of the change's interval within the margin. With a margin in the limits
    file, FAIL needs the lower end beyond it. Without one, any growth that a permutation test finds
    is a FAIL, too.
    """
    pairs = Pairs(score, samples.members, baseline)
    limit = (
        Limit(score.metric_of_model.name, TOLERATED, BY_DEFAULT)
        if margin is None
        else Limit(score.metric_of_model.name, margin, REASON)
    )
    old, new = ([side[place] for side in pairs.sides] for place in (0, 1))
    change = score.mean_change(old, new, statistics.one_sided(level))
    before, after = (None, None) if change is None else change[:2]
    if pairs.are_identical:
        return _identical(limit, samples.images)._replace(before=before, after=after)
    verdict, by_test = Verdict(Outcome.INCONCLUSIVE, None, limit), False
    if change is not None:
        interval = pairs.narrowed(change.interval)
        p_value = score.growth_p_value(
            *pairs.labels, samples.seed, groups=len(pairs.groups), paired=pairs.share_seeds
        )
        verdict = judge.judge(interval, limit, "higher")
        by_test = margin is None and p_value <= 1.0 - level + TIE
        verdict = replace(verdict, p_value=p_value, message=_grown(score, interval, limit.bound))
        if by_test:
            message = f"{score.further} than recorded"
            verdict = replace(verdict, outcome=Outcome.FAIL, message=message)
    return Change(
        verdict,
        verdict.interval,
        score.incomparable,
        (*pairs.remarks(score.margin, samples.level), pairs.pairing, *pairs.thinned(change)),
        before,
        after,
        pairs.moved or (),
        "permutation test" if by_test else "margin",
        fails_at_any_growth=margin is None,
    )


def _grown(score: Score[DetectedPrompt], change: Interval, tolerated: float) -> str:
    """Return how far the model may have moved, in words."""
    if change.high <= tolerated:
        return f"{score.further} by at most {max(0.0, change.high):.2f}; {tolerated:g} is tolerated"
    return f"a growth by up to {change.high:.2f} stays possible; {tolerated:g} is tolerated"
