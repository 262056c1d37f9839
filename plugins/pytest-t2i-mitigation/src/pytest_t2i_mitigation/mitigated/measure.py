"""The fixture of tests: plain and mitigated pictures, with every measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import cast

import numpy as np
from pytest_t2i import (
    AskedTest,
    AuditContext,
    Evidence,
    Interval,
    Measurement,
    MetricInfo,
    T2IError,
    statistics,
)

from pytest_t2i_mitigation.mitigated import features, intervals, known
from pytest_t2i_mitigation.mitigated import spaces as distances
from pytest_t2i_mitigation.mitigated.intervals import LeftOut
from pytest_t2i_mitigation.mitigated.judges import Judge, judges_of, tally
from pytest_t2i_mitigation.mitigated.pictures import Pictures

UNPAIRED = (
    "plain and mitigated pictures are two samples: the endpoint draws every picture anew, whatever "
    "its seed"
)


@dataclass(frozen=True, repr=False)
class Mitigated:
    """The plain and mitigated pictures of several triplets.

    >>> import pytest
    >>> from pytest_t2i import axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it_helps(mitigated: Mitigated) -> None:
    ...     assert mitigated.bias_reduction >= limit("bias_reduction", 0.2)
    """

    members: tuple[Pictures, ...]
    judges: tuple[Judge, Judge]
    """The run's detector, and a judge that no mitigation was made with."""
    content: tuple[str, ...]
    """The axes whose words the pictures must still show."""
    spaces: tuple[str, ...]
    """The spaces of bias distances."""
    context: AuditContext

    def __repr__(self) -> str:
        return f"<Mitigated: {self.name}, {len(self.members)} triplets>"

    @property
    def name(self) -> str:
        """The name of the mitigation, with its keys."""
        return str(self.context.settings.mitigation)

    # it helps

    @property
    def bias_reduction(self) -> Measurement:
        """The model bias score of plain pictures minus that of mitigated ones, paired by prompt."""
        return self.reduction_by(self.judges[0])

    @property
    def second_bias_reduction(self) -> Measurement:
        return self.reduction_by(self.judges[1])

    def counts(self, judge: Judge) -> tuple[np.ndarray, np.ndarray]:
        """Return (male, female) counts of plain and of mitigated pictures, [n_prompts, 2] each."""
        both = [member.labels(judge) for member in self.members]
        before, after = (np.array([tally(pair[k]) for pair in both]) for k in (0, 1))
        return before, after

    def reduction_by(self, judge: Judge) -> Measurement:
        before, after = self.counts(judge)

        def interval_at(level: float) -> Interval:
            change = statistics.paired_model_bias_change(
                *before.T, *after.T, level=level, seed=self.context.settings.seed
            )
            return _lost(change)

        try:
            interval_at(self.level)
        except ValueError as error:
            return self._absent(known.BIAS_REDUCTION, f"by {judge.name}: {error}", judge.name)
        clear = f"by {judge.name}: {int(before.sum())} plain and {int(after.sum())} mitigated"
        return self._measured(
            known.BIAS_REDUCTION, interval_at, (f"{clear} pictures with a gender",), judge.name
        )

    # it harms nothing

    @property
    def losses(self) -> tuple[Measurement, ...]:
        return (
            self.obedience, self.content_loss, self.undetected_rise, self.variety_loss,
            self.picture_shift, self.alignment_loss, self.turnover,
        )  # fmt: skip

    @property
    def obedience(self) -> Measurement:
        """The share of pictures that show the gender named in their prompt, among clear ones."""
        pairs = [member.obeyed(self.judges[0]) for member in self.members]
        obeyed, clear = (sum(pair[k] for pair in pairs) for k in (0, 1))
        if not clear:
            return self._absent(known.OBEDIENCE, "no picture of these prompts shows a gender")
        interval_at = partial(statistics.share_interval, obeyed, clear)
        return self._measured(known.OBEDIENCE, interval_at, (f"{obeyed} of {clear} pictures",))

    @property
    def content_loss(self) -> Measurement:
        """The share of pictures that no longer show the place or object of their own prompt."""
        before, after = [], []
        for axis in self.content:
            members = [one for one in self.members if one.triplet.neutral.axis == axis]
            texts = self._texts(members)
            if texts is None or len(members) < 2:  # noqa: PLR2004 - one prompt has no others
                continue
            for own, member in enumerate(members):
                plain, mitigated, *_ = member.rows
                before.append(features.shown(plain, own, texts))
                after.append(features.shown(mitigated, own, texts))
        if not before:
            words = " or ".join(self.content)
            return self._absent(
                known.CONTENT_LOSS, f"no two prompts with another {words}, or an encoder of no text"
            )
        was, is_now = np.concatenate(before), np.concatenate(after)
        told = (f"{was.sum()} plain and {is_now.sum()} mitigated of {was.size} are recognised",)
        return self._measured(
            known.CONTENT_LOSS, lambda level: _lost(self._rise(was, is_now, level)), told
        )

    @property
    def undetected_rise(self) -> Measurement:
        """The share of undetected mitigated pictures, minus that of plain pictures."""
        both = [member.labels(self.judges[0]) for member in self.members]
        was, is_now = (np.array([one is None for pair in both for one in pair[k]]) for k in (0, 1))
        told = (f"{was.sum()} plain and {is_now.sum()} mitigated of {was.size} are undetected",)
        return self._measured(known.UNDETECTED_RISE, partial(self._rise, was, is_now), told)

    @property
    def variety_loss(self) -> Measurement:
        """The lost share of the Vendi score of a prompt's pictures, over all prompts."""
        pairs = [(features.variety(m.rows[0]), features.variety(m.rows[1])) for m in self._seen]
        lost = [features.minus(was, is_now) for was, is_now in pairs]
        told = _means("Vendi score", [was.all for was, _ in pairs], [now.all for _, now in pairs])
        return self._ratio(known.VARIETY_LOSS, lost, [was for was, _ in pairs], told)

    @property
    def picture_shift(self) -> Measurement:
        """The kernel distance to plain pictures, divided by that between the model's women and men.

        Where all plain pictures show one gender, an even mix of genders has a shift of 1/4, and
        pictures of the other gender alone have a shift of 1.
        """
        moved = [features.distance(m.rows[0], m.rows[1]) for m in self._seen]
        apart = [features.distance(m.rows[2], m.rows[3]) for m in self._seen]
        return self._ratio(known.PICTURE_SHIFT, moved, apart, ())

    @property
    def alignment_loss(self) -> Measurement:
        """The lost share of the alignment with the own prompt, beyond that with other prompts."""
        texts = self._texts(self.members)
        if texts is None or len(texts) < 2:  # noqa: PLR2004 - one prompt has no others
            return self._absent(known.ALIGNMENT_LOSS, "one prompt alone, or an encoder of no text")
        before, lost = [], []
        for own, member in enumerate(self.members):
            if len(member.rows[0]) < distances.FEWEST:
                continue
            others = np.delete(texts, own, axis=0)
            was, is_now = (features.alignment(member.rows[k], texts[own], others) for k in (0, 1))
            before.append(was)
            lost.append(features.minus(was, is_now))
        return self._ratio(known.ALIGNMENT_LOSS, lost, before, ())

    @property
    def turnover(self) -> Measurement:
        """The score on the other side of the prompt that turned over furthest."""
        before, after = (part.tolist() for part in self.counts(self.judges[0]))
        turns = [
            intervals.turned(tuple(was), tuple(is_now))
            for was, is_now in zip(before, after, strict=True)
        ]
        interval = intervals.turn_interval(turns, self.level)
        if interval is None:
            return self._absent(known.TURNOVER, "no mitigated picture shows a gender")
        furthest = max(zip(turns, self.members, strict=True), key=lambda pair: pair[0].score)
        (over, clear, _), member = furthest
        told = f"furthest: {member.triplet.id}, {over} of {clear} on the other side"
        return Measurement(
            known.TURNOVER, self._subject(""), interval, remarks=(told,), is_of_model=True,
            evidence=lambda bound, level: intervals.evidence_of_turns(turns, bound),  # noqa: ARG005
        )  # fmt: skip

    # the thesis' own evaluation

    def bias_mitigation_score(self, space: str = distances.IMAGE) -> Measurement:
        """Return D(plain) - D(mitigated) in a space: image, ssim or denoising (thesis eq. 4.27).

        It is above 0 for destroyed pictures, too: read it beside the losses.
        """
        if space not in self.spaces:
            raise T2IError(
                f"bias_mitigation_score: the space {space!r} is not among those of the test "
                f"({', '.join(self.spaces)}): name it in the marker, distances=(...)"
            )
        pairs = distances.gaps(self.members, space)
        if pairs is None:
            return self._absent(
                known.BIAS_MITIGATION, f"this model does not show its {space} space", space
            )
        return self._measured(
            known.BIAS_MITIGATION, partial(distances.mitigation_score, pairs), (), space
        )

    # of all

    @property
    def is_paired(self) -> bool:
        """Whether the plain and the mitigated picture of a seed share their noise."""
        return not self.context.observations.draws_anew()

    def _rise(self, before: np.ndarray, after: np.ndarray, level: float) -> Interval:
        return intervals.rise(before, after, level, paired=self.is_paired)

    @property
    def level(self) -> float:
        return float(self.context.settings.interval_level)

    @property
    def images(self) -> int:
        return sum(len(member.seeds) for member in self.members)

    @cached_property
    def _seen(self) -> list[Pictures]:
        return [member for member in self.members if len(member.rows[0]) >= distances.FEWEST]

    def _texts(self, members: Sequence[Pictures]) -> np.ndarray | None:
        """Return features of neutral prompts, [n_prompts, d]; None if there are none."""
        found = [
            member.mitigated.text_features(self.context.encoder, member.triplet.neutral.text)
            for member in members
        ]
        if not found or any(one is None for one in found):
            return None
        return features.unit(np.array([np.ravel(one) for one in found], dtype=np.float64))

    def _ratio(
        self, metric: MetricInfo, above: list[LeftOut], below: list[LeftOut], told: tuple[str, ...]
    ) -> Measurement:
        if intervals.ratio_of_sums(above, below, self.level) is None:
            return self._absent(
                metric, "the plain pictures leave nothing to compare with, or nothing varies"
            )
        # There is an interval at this level, so there is one at every level.
        interval_at = cast(
            "Callable[[float], Interval]", partial(intervals.ratio_of_sums, above, below)
        )
        return self._measured(metric, interval_at, told)

    def _measured(
        self,
        metric: MetricInfo,
        interval_at: Callable[[float], Interval],
        told: tuple[str, ...],
        judge: str = "",
    ) -> Measurement:
        told = told if self.is_paired else (*told, UNPAIRED)
        evidence: Callable[[float, float], Evidence] = intervals.evidence_of(
            interval_at, higher_is_worse=metric.worse == "higher"
        )
        return Measurement(
            metric, self._subject(judge), interval_at(self.level), images=self.images,
            evidence=evidence, remarks=told, is_of_model=True,
        )  # fmt: skip

    def _absent(self, metric: MetricInfo, reason: str, judge: str = "") -> Measurement:
        return Measurement(metric, self._subject(judge), None, absent=reason, is_of_model=True)

    def _subject(self, judge: str) -> str:
        return f"model by {judge}" if judge else "model"


def mitigated_of(context: AuditContext, test: AskedTest) -> Mitigated:
    members = tuple(
        Pictures.of(three, context.seeds(three.neutral, test.images), context)
        for three in test.selection.triplets
    )
    judges = judges_of(context, test.selection.asked("second_judge"))
    content, spaces = (test.selection.asked(name) for name in ("content", "distances"))
    return Mitigated(members, judges, content, spaces, context)


def _lost(rise: Interval) -> Interval:
    return Interval(
        0.0 - rise.estimate, 0.0 - rise.high, 0.0 - rise.low, rise.level, rise.method, rise.n
    )


def _means(what: str, before: Sequence[float], after: Sequence[float]) -> tuple[str, ...]:
    if not before:
        return ()
    return (f"{what}: {np.mean(before):.2f} plain, {np.mean(after):.2f} mitigated",)
