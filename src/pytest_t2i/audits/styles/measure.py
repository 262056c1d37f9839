"""Measurements of styles: the gap of each style to the plain prompts, and the widest gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from pytest_t2i.audits.build_samples import one_sample
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.detected import DetectedPrompt, listed
from pytest_t2i.audits.evidence import IntervalAt, adjusted
from pytest_t2i.data import Bounds, Evidence, Interval, Prompt
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.generation.plan import DetectorRef, Need
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics import inverted_p_value
from pytest_t2i.statistics.gaps import stratified_gap_interval
from pytest_t2i.statistics.model import Words
from pytest_t2i.verdicts.measurement import Family, Measurement

AXES = ("style", "everyday_style")
"""Axes whose words are styles."""
PLAIN = "plain"
"""Concept of a prompt without its style."""
NAMED = 5
"""Largest number of styles that a failure text names."""


class Styled(NamedTuple):
    """A prompt that names a style, and the prompt without it."""

    style: str
    prompt: Prompt
    plain: Prompt


def styled(prompts: Sequence[Prompt]) -> list[Styled]:
    """Return each prompt with its style and without.

    Raises ConfigurationError for a prompt without a style, and for a style that does not follow a
    comma, because the prompt without it is unknown then.
    """
    return [_styled(prompt) for prompt in prompts]


def _styled(prompt: Prompt) -> Styled:
    parts = dict(prompt.parts) or {prompt.axis: prompt.concept}
    axis = next((name for name in AXES if name in parts), None)
    if axis is None:
        raise ConfigurationError(
            f"the fixture styles needs prompts that name a style, got {prompt.text!r}: cross words "
            "with axes.style or axes.everyday_style (intersection)"
        )
    style = parts[axis]
    tail = f", {style}"
    if prompt.text.count(tail) != 1:
        raise ConfigurationError(
            f"the fixture styles: expected {tail!r} once in {prompt.text!r}, to know the prompt "
            f"without it. The template of the axis {axis!r} ends in ', {{word}}'."
        )
    rest = tuple(part for part in prompt.parts if part[0] != axis)
    name = "-x-".join(axis for axis, _ in rest) or axis
    concept = ", ".join(word for _, word in rest) or PLAIN
    text = prompt.text.replace(tail, "")
    return Styled(style, prompt, Prompt(text, name, concept, parts=rest if len(rest) > 1 else ()))


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Yield the need for the plain prompts, with as many images."""
    refs = frozenset(DetectorRef(name) for name in context.detectors)
    for plain in dict.fromkeys(prompt.plain for prompt in styled(test.selection.prompts)):
        yield Need(plain, context.seeds(plain, test.images), refs)


class Pair(NamedTuple):
    """The detections of one prompt with the style and without."""

    styled: DetectedPrompt
    plain: DetectedPrompt


@dataclass(frozen=True, repr=False)
class Styles:
    """Prompts with several styles, each with the same prompt without it.

    >>> import pytest
    >>> from pytest_t2i import Styles, axes, intersection, limit
    >>> @pytest.mark.t2i(intersection(axes.profession.only("nurse"), axes.style))
    ... def test_it(styles: Styles) -> None:
    ...     assert styles.widest_gap <= limit("style_gap", 0.3)
    """

    members: dict[str, tuple[Pair, ...]]
    """Style -> detections of its prompts."""
    level: float
    words: Words = "fixed"
    """"fixed" for claims about these prompts, "sample" for claims about prompts like them."""

    def __repr__(self) -> str:
        return f"<Styles: {len(self.members)} of {sum(map(len, self.members.values()))} prompts>"

    def gap(self, style: str) -> Measurement:
        """Return the share of men with a style minus without it, mean over prompts, from -1 to 1.

        Raises UnknownNameError for a style that no prompt names.
        """
        if style not in self.members:
            raise UnknownNameError("style of these prompts", style, self.members)
        return self._measured(style, f"model, {style}", self.interval(style), (self.told(style),))

    @property
    def widest_gap(self) -> Measurement:
        """The gap of the style furthest from the plain prompts; all styles are tested."""
        ranking = self._ranked
        remarks = tuple(f"{style} {at}: {self.told(style)}" for style, at in ranking[:NAMED])
        if not ranking:
            return self._measured("", "model (furthest style)", None, ())
        style, _ = ranking[0]
        style_level = 1.0 - (1.0 - self.level) / len(ranking)
        widest = replace(self, level=style_level).interval(style)
        interval = None if widest is None else replace(widest, level=self.level)
        return replace(
            self._measured(style, "model (furthest style)", interval, remarks),
            family=None,
            evidence=self._evidence_of_widest,
        )

    def interval(self, style: str) -> Interval | None:
        """Return the gap's interval; None where no prompt has clear images with and without it."""
        return _interval(self.members[style], self.level, self.words)

    def told(self, style: str) -> str:
        """Return the counts in words."""
        pairs = self.members[style]
        with_it, without = ([pair[k] for pair in pairs] for k in (0, 1))
        undetected = sum(
            (sample.undetected for sample in with_it), start=type(with_it[0].undetected)()
        )
        lost = f", undetected {listed(undetected)}" if undetected else ""
        return f"{_men(with_it)} men with the style{lost}, {_men(without)} without"

    @property
    def _ranked(self) -> list[tuple[str, Interval]]:
        intervals = [
            (style, at) for style in self.members if (at := self.interval(style)) is not None
        ]
        return sorted(intervals, key=lambda pair: -abs(pair[1].estimate))

    @cached_property
    def _family(self) -> Family:
        return Family(tuple(self.interval(style) for style in self.members), self._evidence)

    def _evidence(self, bound: float, level: float) -> list[Evidence]:
        """Return the evidence of each style; ``beyond`` is adjusted for their number."""
        return adjusted(
            [_evidence_of(pairs, self.words, bound, level) for pairs in self.members.values()]
        )

    def _evidence_of_widest(self, bound: float, level: float) -> Evidence:
        """Return the evidence that some style lies beyond the bound, and that all lie within."""
        members = [member for member in self._evidence(bound, level) if member.beyond is not None]
        if not members:
            return Evidence(None, None)
        clear = _combined([member.labelled or (member.beyond, member.within) for member in members])
        worst = _combined([(member.beyond, member.within) for member in members])
        return Evidence(*worst, labelled=None if clear == worst else clear)

    def _measured(
        self, style: str, subject: str, interval: Interval | None, remarks: tuple[str, ...]
    ) -> Measurement:
        pairs = self.members.get(style, ())
        return Measurement(
            metric=INFO["style_gap"],
            subject=subject,
            interval=interval,
            images=sum(len(pair.styled.seeds) for pair in pairs),
            family=self._family if style else None,
            place=list(self.members).index(style) if style else 0,
            absent="no prompt has a clear image with a style and without it",
            remarks=remarks,
            worst_case=_worst_case(pairs),
            is_of_model=True,
        )


def styles_of(context: AuditContext, test: AskedTest) -> Styles:
    """Return the styles of a test."""
    return of_pairs(context, [(prompt, test) for prompt in styled(test.selection.prompts)])


def of_pairs(context: AuditContext, asked: Sequence[tuple[Styled, AskedTest]]) -> Styles:
    """Return the styles of prompts, each with the images that a test asks for."""
    members: dict[str, tuple[Pair, ...]] = {}
    for styled_prompt, test in asked:
        pair = Pair(
            *(
                one_sample(context, prompt, test)
                for prompt in (styled_prompt.prompt, styled_prompt.plain)
            )
        )
        members[styled_prompt.style] = (*members.get(styled_prompt.style, ()), pair)
    return Styles(members, context.settings.confidence, context.settings.words)


Counts = tuple[int, int]


def _clear(pairs: Sequence[Pair]) -> list[tuple[Counts, Counts]]:
    """Return (men, clear images) with the style and without, of prompts that have both."""
    counts = [((s.male, s.clear), (p.male, p.clear)) for s, p in pairs]
    return [pair for pair in counts if pair[0][1] and pair[1][1]]


def _worst_counts(pairs: Sequence[Pair], side: int) -> list[tuple[Counts, Counts]]:
    """Return these counts with undetected images that move the gap upwards (1) or downwards (0)."""

    def of(sample: DetectedPrompt, men: int) -> Counts:
        return sample.male + men * sample.unknown, sample.clear + sample.unknown

    counts = [(of(s, side), of(p, 1 - side)) for s, p in pairs]
    return [pair for pair in counts if pair[0][1] and pair[1][1]]


def _gap_interval(counts: Sequence[tuple[Counts, Counts]], words: Words, level: float) -> Interval:
    after, before = ([pair[k] for pair in counts] for k in (0, 1))
    return stratified_gap_interval(after, before, level=level, words=words)


def _interval(pairs: Sequence[Pair], level: float, words: Words) -> Interval | None:
    counts = _clear(pairs)
    if not counts or (words != "fixed" and len(counts) < 2):  # noqa: PLR2004 - shows no spread
        return None
    return _gap_interval(counts, words, level)


def _evidence_of(
    pairs: Sequence[Pair], words: Words, bound: float, level: float
) -> Evidence | None:
    """Return evidence that holds in the worst case, and that of the labelled images alone."""
    if _interval(pairs, level, words) is None:
        return None
    clear = _p_values(partial(_gap_interval, _clear(pairs), words), bound)
    if not any(sample.unknown for pair in pairs for sample in pair):
        return Evidence(*clear)
    low, high = (_worst_counts(pairs, side) for side in (0, 1))

    def widest(at: float) -> Interval:
        ends = _gap_interval(low, words, at), _gap_interval(high, words, at)
        return Interval(ends[0].estimate, ends[0].low, ends[1].high, at, ends[0].method, ends[0].n)

    return Evidence(*_p_values(widest, bound), labelled=clear)


def _combined(p_values: Sequence[tuple[float | None, float | None]]) -> tuple[float, float]:
    """Return the smallest p-value against "all lie within", the largest against "one is beyond"."""
    return min(b or 0.0 for b, _ in p_values), max(w or 0.0 for _, w in p_values)


def _p_values(interval_at: IntervalAt, bound: float) -> tuple[float, float]:
    """Return p-values (beyond, within) of a gap's size, by inverting its intervals."""
    p_value = partial(inverted_p_value, interval_at)
    above, below = (
        p_value(bound, alternative="greater"),
        p_value(-bound, alternative="less"),
    )
    under, over = p_value(bound, alternative="less"), p_value(-bound, alternative="greater")
    return min(1.0, 2.0 * min(above, below)), max(under, over)


def _worst_case(pairs: Sequence[Pair]) -> Bounds | None:
    unknown = sum(sample.undetected.total() for pair in pairs for sample in pair)
    images = sum(len(sample.seeds) for pair in pairs for sample in pair)
    if not unknown:
        return None
    ends = []
    for side in (0, 1):
        gaps = [
            (s.male + side * s.undetected.total()) / len(s.seeds)
            - (p.male + (1 - side) * p.undetected.total()) / len(p.seeds)
            for s, p in pairs
        ]
        ends.append(sum(gaps) / len(gaps))
    return Bounds(ends[0], ends[1], unknown / images)


def _men(samples: Sequence[DetectedPrompt]) -> str:
    return f"{sum(s.male for s in samples)} of {sum(s.clear for s in samples)}"
