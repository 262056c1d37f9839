"""Crowd: who is shown in pictures of several people, the picture being the independent unit.

Tests use the fixtures ``crowd`` and ``crowds``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from pytest_t2i import (
    AskedTest,
    AuditContext,
    Contrast,
    ContrastAudit,
    DetectorRef,
    Evidence,
    Prompt,
    Row,
    Rows,
    T2IError,
    Unit,
    Units,
    digest,
    people_of,
)

from pytest_t2i_crowds.quantities import (
    CROWD_SHARE_GAP,
    FRONT_SHARE_GAP,
    METRICS,
    PICTURE_SHARE_GAP,
    SINGLE_GENDER_SHARE,
)
from pytest_t2i_crowds.shown import FEMALE, MALE, ShownCrowd

if TYPE_CHECKING:
    from pytest_t2i import Change, Measurement, Need
    from pytest_t2i import sections as drawn

    from pytest_t2i_crowds.pictures import CrowdPictures

ARM = "people"
NOBODY = "nobody in the pictures has a gender"
GAP, OWN, FRONT, SINGLE = (
    Contrast(CROWD_SHARE_GAP.name, (ARM,), absent=NOBODY),
    Contrast(PICTURE_SHARE_GAP.name, (ARM,), absent=NOBODY),
    Contrast(FRONT_SHARE_GAP.name, (ARM,), absent="nobody in front has a gender"),
    Contrast(SINGLE_GENDER_SHARE.name, (ARM,), absent="no picture shows two people with a gender"),
)
NAMED, SHOWN_PROMPTS = 5, 60
"""Largest numbers of prompts: that a failure text names, and in a chart."""
SHOWS_PEOPLE = "a detector that counts people, such as age-and-gender-people"


class _Measured:
    """The metrics of one prompt or of several."""

    if TYPE_CHECKING:

        def _measured(self, contrast: Contrast) -> Measurement: ...

    @property
    def crowd_share_gap(self) -> Measurement:
        """Share of men minus share of women among all people shown, from -1 to 1."""
        return self._measured(GAP)

    @property
    def picture_share_gap(self) -> Measurement:
        """Mean over pictures of the share of men minus that of women within each, from -1 to 1."""
        return self._measured(OWN)

    @property
    def front_share_gap(self) -> Measurement:
        """Share of pictures with a man in front minus that with a woman, from -1 to 1."""
        return self._measured(FRONT)

    @property
    def single_gender_share(self) -> Measurement:
        """Share of pictures of several people that show men alone or women alone, from 0 to 1."""
        return self._measured(SINGLE)


@dataclass(frozen=True, eq=False, repr=False)
class Crowd(Unit, _Measured):
    """The people in the pictures of one prompt.

    >>> import pytest
    >>> from pytest_t2i import limit
    >>> from pytest_t2i_crowds import Crowd, axes
    >>> @pytest.mark.t2i(axes.team)
    ... def test_it(crowd: Crowd) -> None:
    ...     assert abs(crowd.crowd_share_gap) <= limit("crowd_share_gap", 0.5)
    """

    pictures: tuple[ShownCrowd, ...] = ()
    pictures_digest: str = ""
    """Digest of the store's keys of the pictures."""
    detector_fingerprint: str = ""

    def __repr__(self) -> str:
        return f"<Crowd of {self.id}: {in_words(self.pictures)}>"

    def first(self, images: int) -> Self:
        return replace(super().first(images), pictures=self.pictures[:images])

    def _measured(self, contrast: Contrast) -> Measurement:
        alone = Crowds((self,), self.level, alike=self.alike)
        remarks = _remarks([self], contrast)
        return self.measured(contrast, remarks, Crowds, change=alone.change_of(contrast))


def crowd_of(
    prompt: Prompt, pictures: Iterable[ShownCrowd], level: float, alike: float = 0.0
) -> Crowd:
    pictures = tuple(pictures)
    gaps = [math.nan if picture.gap is None else picture.gap for picture in pictures]
    return Crowd(prompt, {ARM: gaps}, level, alike=alike, pictures=pictures)


@dataclass(frozen=True, repr=False)
class Crowds(Units[Crowd], _Measured):
    """The people in the pictures of several prompts.

    >>> import pytest
    >>> from pytest_t2i import limit
    >>> from pytest_t2i_crowds import Crowds, axes
    >>> @pytest.mark.t2i(axes.team, axes.group)
    ... def test_it(crowds: Crowds) -> None:
    ...     assert abs(crowds.widest_gap) <= limit("crowd_share_gap", 0.5)
    """

    def __repr__(self) -> str:
        return f"<Crowds of {counted(len(self.members), 'prompt')}: {in_words(self.pictures)}>"

    @property
    def pictures(self) -> tuple[ShownCrowd, ...]:
        return tuple(picture for member in self.members for picture in member.pictures)

    @property
    def widest_gap(self) -> Measurement:
        """The share gap of the prompt furthest from even shares; all prompts are tested."""
        subject = "model (furthest prompt)"
        intervals = [(m, Crowds((m,), self.level).estimated(GAP)) for m in self.members]
        ranked = sorted(
            ((member, at) for member, at in intervals if at is not None),
            key=lambda pair: -abs(pair[1].estimate),
        )
        if not ranked:
            return self.measured(GAP, subject)
        member, _ = ranked[0]
        single_level = 1.0 - (1.0 - self.level) / len(ranked)
        widest = Crowds((member,), self.level).arms(GAP).interval(single_level)
        alone = Crowds((member,), self.level, alike=self.alike).measured(
            GAP,
            subject,
            [f"{m.name} {at}: {in_words(m.pictures)}" for m, at in ranked[:NAMED]],
            evidence=self._evidence_of_widest,
        )
        return replace(
            alone, interval=None if widest is None else replace(widest, level=self.level)
        )

    def arms(self, contrast: Contrast) -> CrowdPictures:  # type: ignore[override]
        from pytest_t2i_crowds.pictures import crowd_pictures

        return crowd_pictures(self.members, contrast.metric, self.alike)

    def _measured(self, contrast: Contrast) -> Measurement:
        remarks = _remarks(self.members, contrast)
        return self.measured(contrast, remarks=remarks, change=self.change_of(contrast))

    def change_of(self, contrast: Contrast) -> Callable[[Any, float | None, float], Change]:
        """Return the comparison of a metric with its record in a baseline."""

        def change(baseline: Any, margin: float | None, level: float) -> Change:
            from pytest_t2i_crowds.change import crowd_change

            return crowd_change(self.members, contrast.metric, self.alike, baseline, margin, level)

        return change

    def _evidence_of_widest(self, bound: float, level: float) -> Evidence:
        """Return the evidence that some prompt lies beyond the bound, and that all lie within."""
        each = [e for e in self.family(GAP).evidence(bound, level) if e.beyond is not None]
        if not each:
            return Evidence(None, None)

        def combined(p_values: Sequence[tuple[float | None, float | None]]) -> tuple[float, float]:
            return min(b or 0.0 for b, _ in p_values), max(w or 0.0 for _, w in p_values)

        beyond, within = combined([(e.beyond, e.within) for e in each])
        clear = combined([e.labelled or (e.beyond, e.within) for e in each])
        return Evidence(beyond, within, labelled=None if clear == (beyond, within) else clear)


def in_words(pictures: Sequence[ShownCrowd]) -> str:
    """Return who is shown, such as ``12 male, 30 female, 2 unclear in 20 pictures``."""
    groups = _groups(pictures)
    unclear = sum(picture.people.unclear for picture in pictures if picture.people)
    counts = [f"{count} {label}" for label, count in groups.items()]
    counts += [f"{unclear} unclear"] if unclear else []
    lost = _undetected(pictures)
    text = f"{', '.join(counts) or 'nobody'} in {counted(len(pictures), 'picture')}"
    return f"{text}, {sum(lost.values())} of which show nobody found" if lost else text


def _groups(pictures: Iterable[ShownCrowd]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for picture in pictures:
        if picture.people:
            total.update(picture.people.groups)
    return dict(total)


def _undetected(pictures: Iterable[ShownCrowd]) -> dict[str, int]:
    return dict(Counter(p.undetected for p in pictures if p.people is None or not p.people.number))


def _remarks(members: Sequence[Crowd], contrast: Contrast) -> Iterator[str]:
    """Yield who is shown; of pictures with one gender, how many independent people would make."""
    pictures = [picture for member in members for picture in member.pictures]
    if contrast is SINGLE:
        several = [picture for picture in pictures if picture.is_single is not None]
        if several:
            single = sum(bool(picture.is_single) for picture in several)
            yield f"{single} of {len(several)} pictures of several people show one gender alone"
            yield f"people drawn independently of each other: {by_chance(several):.2f}"
        return
    if contrast is FRONT:
        fronts = Counter(picture.front for picture in pictures)
        counts = ", ".join(f"{fronts[label]} {label}" for label in (MALE, FEMALE))
        yield f"in front: {counts}; unclear or nobody in {fronts[None]}"
        return
    yield in_words(pictures)
    gaps = [gap for member in members for gap in member.values[ARM] if not math.isnan(gap)]
    if gaps:
        yield f"mean of the gaps within a picture: {sum(gaps) / len(gaps):+.3f}"


def by_chance(pictures: Sequence[ShownCrowd]) -> float:
    """Return the expected share of pictures of one gender if people were independent.

    The share of each gender is that among all people of the pictures.
    """
    groups = _groups(pictures)
    total = sum(groups.values())
    sizes = [picture.people.labelled for picture in pictures if picture.people]
    chances = [sum((count / total) ** size for count in groups.values()) for size in sizes if total]
    return min(1.0, sum(chances) / len(chances)) if chances else 0.0


class CrowdAudit(ContrastAudit):
    """The audit of who is shown in pictures of several people."""

    name, place, metrics = "crowd", 42, METRICS
    units_type = Crowds
    contrast, about, fixture, single = GAP, "prompts", "crowds", "crowd"
    detectors = "all"
    doc = "The people in the pictures of every prompt of the t2i marker."
    single_doc = "The people in one prompt's pictures; the test runs once per prompt of its marker."
    unmeasured = "Who is shown in pictures of several people was not measured."
    title = "Groups of people"
    reading = (
        "People of one picture are not independent, so the picture is the unit: intervals and "
        "verdicts rest on the number of pictures, not of people. The share gap is the share of men "
        "minus that of women among all people shown; a picture weighs as many people as it shows, "
        "at most eight. People whose presentation is unclear count as no gender, and verdicts hold "
        "whoever they are. Counted by {detector}."
    )
    scope = "Who is shown in pictures of several people, who is in front, and in which company."
    limitations = (
        "A detector of faces counts people whose faces it finds: small, hidden and averted ones "
        "are missing from all shares.",
    )

    def check(self, context: AuditContext, test: AskedTest) -> None:
        """Refuse a run without a detector that counts people by gender."""
        super().check(context, test)
        if self.is_asked(test):
            _counting_detector(context)

    def arms(self, unit: Prompt) -> Mapping[str, Prompt]:
        return {ARM: unit}

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for the prompts, examined by all detectors."""
        return super().needs(context, test) if self.is_asked(test) else ()

    def unit(self, context: AuditContext, unit: Prompt, test: AskedTest) -> Crowd:
        """Return the people in the distinct pictures of a prompt."""
        name = _counting_detector(context)
        ref, settings = DetectorRef(name), context.settings
        seeds = self.seeds(context, unit, test, is_distinct=True)[ARM]
        labels = context.observations.labels(ref)
        observations = context.observations
        pictures = (
            ShownCrowd(
                people_of(detection, name, labels),
                detection.label,
                "" if detection.undetected is None else detection.undetected.value,
            )
            for detection in observations.detections(unit, seeds, ref)
        )
        crowd = crowd_of(unit, pictures, settings.interval_level, settings.undetected_alike)
        return replace(
            crowd,
            pictures_digest=digest(observations.keys(unit, seeds)),
            detector_fingerprint=observations.components.detector(ref).fingerprint,
        )

    @property
    def recorded_type(self) -> Any:
        from pytest_t2i_crowds.change import RECORDED

        return RECORDED

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """Return the people in the pictures of each prompt, for a baseline."""
        from pytest_t2i_crowds.change import recorded

        members = self.widest(context, [test for test in context.tests if self.is_asked(test)])
        if not members:
            return None
        ref = DetectorRef(_counting_detector(context))
        return recorded(members, context.observations.labels(ref))

    def rows_of(
        self, context: AuditContext, members: Sequence[Crowd], model: Crowds
    ) -> Iterator[Row]:
        """Yield the metrics of all prompts together, then those of each."""
        detector = {"detector": _counting_detector(context)}
        yield from _rows(model, "model", "model", detector)
        for member in members:
            name = {"name": member.about.concept}
            yield from _rows(Crowds((member,), model.level), member.id, "prompt", name)

    def in_words(self, rows: Rows) -> str:
        """Return who is shown, in a line."""
        row = rows.of(GAP.metric)[0]
        counts = ", ".join(f"{n} {label}" for label, n in row.counts.items() if n and label in BOTH)
        pictures = counted(row.counts["images"], "picture")
        text = f"groups of people: {row.counts['people']} people in {pictures} ({counts})"
        if row.interval is None:
            return text
        low, high = row.interval.low, row.interval.high
        side = ", more men" if low > 0.0 else ", more women" if high < 0.0 else ""
        return f"{text}; share gap {row.interval}{side}"

    def blocks(self, rows: Rows, run: Any) -> Sequence[drawn.Block]:
        """Return who is shown, who is in front, and pictures of one gender."""
        del run
        from pytest_t2i.sections import RowChart

        prompts = [row.subject for row in rows.of(GAP.metric, "prompt")]
        shown, left = tuple(prompts[:SHOWN_PROMPTS]), len(prompts) - SHOWN_PROMPTS
        more = f", and {left} more prompts in run.json" if left > 0 else ""
        charts = (
            ("Men minus women among the people shown", GAP, (*BOTH, "unclear", "images")),
            ("Men minus women in front", FRONT, BOTH),
            ("Pictures of several people that show one gender alone", SINGLE,
             ("single", "several", "by_chance")),
        )  # fmt: skip
        return [
            chart
            for title, contrast, columns in charts
            for chart in (
                RowChart(title, (contrast.metric,), columns=columns),
                RowChart(
                    f"{title}, by prompt{more}", (contrast.metric,), "prompt", shown, (), columns
                ),
            )
        ]


BOTH = (MALE, FEMALE)


def _rows(crowds: Crowds, subject: str, about: Any, facts: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the metrics of some prompts together.

    The bounds of the gap hold whoever the people without a label are. ``by_chance`` is the expected
    share of pictures of one gender if people were drawn independently of each other.
    """
    pictures, worst = crowds.pictures, crowds.arms(GAP).worst_case
    several = [picture for picture in pictures if picture.is_single is not None]
    people = [picture.people for picture in pictures if picture.people]
    fronts = Counter(picture.front for picture in pictures)
    images = {"images": len(pictures)}
    counts: dict[str, Mapping[str, int]] = {
        GAP.metric: {
            **images, "people": sum(shown.number for shown in people), **_groups(pictures),
            "unclear": sum(shown.unclear for shown in people),
            "undetected": sum(_undetected(pictures).values()),
        },
        OWN.metric: images,
        FRONT.metric: {label: fronts[label] for label in BOTH} | images,
        SINGLE.metric: {
            "single": sum(bool(picture.is_single) for picture in several), "several": len(several),
        },
    }  # fmt: skip
    more: dict[str, Mapping[str, Any]] = {
        GAP.metric: {} if worst is None else {"lowest": worst.low, "highest": worst.high},
        SINGLE.metric: {"by_chance": by_chance(several) if several else None},
    }
    for contrast in (GAP, OWN, FRONT, SINGLE):
        value = crowds.estimated(contrast)
        yield Row(
            contrast.metric, subject, about, value, {}, {**facts, **more.get(contrast.metric, {})},
            counts[contrast.metric], "" if value is not None else contrast.absent,
        )  # fmt: skip


def _counting_detector(context: AuditContext) -> str:
    observations = context.observations
    for name in context.detectors:
        component = observations.components.detector(DetectorRef(name))
        if component.counts_people:
            if not {MALE, FEMALE} <= set(component.labels):
                raise T2IError(
                    f"the fixtures crowd and crowds compare men with women: expected {SHOWS_PEOPLE}"
                    f", with the labels male and female, got {name} with the labels "
                    f"{', '.join(component.labels)}. Give another one with --t2i-detector."
                )
            return name
    raise T2IError(
        f"the fixtures crowd and crowds need {SHOWS_PEOPLE}, got {', '.join(context.detectors)}. "
        f"Add it: --t2i-detector {','.join((*context.detectors, 'age-and-gender-people'))}"
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 picture``, ``3 pictures``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
