"""The audit's part of run.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_t2i import AuditContext, Interval, Measurement, PicturePath, statistics

from pytest_t2i_mitigation.mitigated import spaces
from pytest_t2i_mitigation.mitigated.judges import Judge, tally
from pytest_t2i_mitigation.mitigated.measure import Mitigated, mitigated_of
from pytest_t2i_mitigation.mitigated.needs import asks
from pytest_t2i_mitigation.mitigated.pictures import Pictures

KEPT_PAIRS = 6
"""The largest number of pairs of pictures that are kept for each prompt."""


@dataclass(frozen=True)
class JudgeRecord:
    """The scores of the model before and after, by one judge."""

    judge: str
    before: Interval | None
    """The model bias score of the plain pictures."""
    after: Interval | None
    reduction: Interval | None


@dataclass(frozen=True)
class LossRecord:
    """A measurement of harm."""

    metric: str
    value: Interval | None
    absent: str = ""
    """Why there is no interval."""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class DistanceRecord:
    """How near pictures are to both genders in one space (thesis eq. 4.26, 4.27)."""

    space: str
    plain: Interval
    """The bias distance D of the plain pictures."""
    mitigated: Interval
    score: Interval
    """The bias mitigation score B: plain minus mitigated."""


@dataclass(frozen=True)
class SetsRecord:
    """How far the mitigated pictures lie from the plain ones, as sets."""

    encoder: str
    """The encoder of the features, which have unit length."""
    images: int
    """The number of pictures of each set."""
    frechet: float | None
    """The Frechet distance (FID, thesis eq. 4.32), which is biased upwards with few pictures."""
    kernel: Interval | None
    """The unbiased kernel distance (KID), the mean over prompts."""


@dataclass(frozen=True)
class PairRecord:
    """The pictures of one prompt and seed, before and after."""

    seed: int
    plain: PicturePath | None
    """The file of the picture; None where the model refused."""
    mitigated: PicturePath | None
    plain_label: str | None
    """The label by the run's detector; None where the picture is undetected."""
    mitigated_label: str | None


@dataclass(frozen=True)
class PromptRecord:
    """The counts of one prompt, before and after, by the run's detector."""

    prompt: str
    text: str
    plain_male: int
    plain_female: int
    mitigated_male: int
    mitigated_female: int
    images: int
    pairs: tuple[PairRecord, ...]


@dataclass(frozen=True)
class MitigatedPart:
    """The audit's part of run.json."""

    mitigation: str
    """The name of the mitigation, with its keys."""
    stage: str
    passes: float
    """The cost of a mitigated picture in passes, where a plain one costs 1."""
    judges: tuple[JudgeRecord, ...]
    losses: tuple[LossRecord, ...]
    prompts: tuple[PromptRecord, ...]
    distances: tuple[DistanceRecord, ...] = ()
    sets: SetsRecord | None = None

    def loss(self, metric: str) -> Interval | None:
        """Return the value of a loss by its metric, or None."""
        return next((one.value for one in self.losses if one.metric == metric), None)


def measured(context: AuditContext) -> MitigatedPart | None:
    """Return the part of the test with most pictures; None without a test or mitigation."""
    asking = [test for test in context.tests if asks(test)]
    if not asking or context.mitigation is None:
        return None
    widest = max(asking, key=lambda test: test.images * len(test.selection.triplets))
    mitigated = mitigated_of(context, widest)
    return MitigatedPart(
        mitigated.name,
        context.mitigation.stage,
        context.passes,
        tuple(_judge(mitigated, judge, k) for k, judge in enumerate(mitigated.judges)),
        tuple(_losses(mitigated)),
        tuple(_prompt(member, mitigated.judges[0]) for member in mitigated.members),
        tuple(_distances(mitigated)),
        _sets(mitigated),
    )


def _distances(mitigated: Mitigated) -> Iterator[DistanceRecord]:
    for space in mitigated.spaces:
        if (pairs := spaces.gaps(mitigated.members, space)) is not None:
            plain, after = (
                spaces.distance(side, mitigated.level) for side in (pairs.plain, pairs.mitigated)
            )
            score = spaces.mitigation_score(pairs, mitigated.level)
            yield DistanceRecord(space, plain, after, score)


def _sets(mitigated: Mitigated) -> SetsRecord:
    return SetsRecord(
        mitigated.context.encoder,
        sum(len(member.rows[0]) for member in mitigated.members),
        spaces.frechet(mitigated.members),
        spaces.kernel(mitigated.members, mitigated.level),
    )


def _judge(mitigated: Mitigated, judge: Judge, place: int) -> JudgeRecord:
    before, after = mitigated.counts(judge)
    reduction = mitigated.second_bias_reduction if place else mitigated.bias_reduction
    return JudgeRecord(
        judge.name, _score(mitigated, before), _score(mitigated, after), reduction.interval
    )


def _score(mitigated: Mitigated, counts: Any) -> Interval | None:
    settings = mitigated.context.settings
    try:
        return statistics.model_bias_interval(*counts.T, level=mitigated.level, seed=settings.seed)
    except ValueError:  # no prompt has a clear picture
        return None


def _losses(mitigated: Mitigated) -> Iterator[LossRecord]:
    measurements: Sequence[Measurement] = (
        mitigated.obedience, mitigated.content_loss, mitigated.undetected_rise,
        mitigated.variety_loss, mitigated.picture_shift, mitigated.alignment_loss,
        mitigated.turnover,
    )  # fmt: skip
    for one in measurements:
        yield LossRecord(one.name, one.interval, one.absent, one.remarks)


def _prompt(member: Pictures, judge: Judge) -> PromptRecord:
    neutral = member.triplet.neutral
    plain, mitigated = member.labels(judge)
    files = [
        [None if one.file is None else str(one.file) for one in seen.images(neutral, member.seeds)]
        for seen in (member.plain, member.mitigated)
    ]
    pairs = zip(member.seeds, *files, plain, mitigated, strict=True)
    return PromptRecord(
        neutral.id, neutral.text, *tally(plain), *tally(mitigated), len(member.seeds),
        tuple(PairRecord(*pair) for pair in list(pairs)[:KEPT_PAIRS]),
    )  # fmt: skip
