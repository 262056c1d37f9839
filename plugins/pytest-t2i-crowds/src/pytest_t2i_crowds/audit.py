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
    Bounds,
    Contrast,
    ContrastAudit,
    DetectorRef,
    Evidence,
    Frame,
    Interval,
    Prompt,
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
        """Return the crowd of the first pictures alone."""
        return replace(super().first(images), pictures=self.pictures[:images])

    def _measured(self, contrast: Contrast) -> Measurement:
        alone = Crowds((self,), self.level, alike=self.alike)
        remarks = _remarks([self], contrast)
        return self.measured(contrast, remarks, Crowds, change=alone.change_of(contrast))


def crowd_of(
    prompt: Prompt, pictures: Iterable[ShownCrowd], level: float, alike: float = 0.0
) -> Crowd:
    """Return the people in the pictures of a prompt."""
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
        """The pictures of all prompts."""
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
        """Return the pictures for a metric."""
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
    """Return label -> number of people."""
    total: Counter[str] = Counter()
    for picture in pictures:
        if picture.people:
            total.update(picture.people.groups)
    return dict(total)


def _undetected(pictures: Iterable[ShownCrowd]) -> dict[str, int]:
    """Return reason -> number of pictures in which nobody was found."""
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


@dataclass(frozen=True, slots=True)
class CrowdRecord:
    """The people of one prompt, or of all."""

    images: int
    """Number of distinct pictures."""
    people: int
    groups: Mapping[str, int]
    """Label -> number of people."""
    unclear: int
    """Number of people without a label."""
    undetected: Mapping[str, int]
    """Reason -> number of pictures in which nobody was found."""
    front: Mapping[str, int]
    """Label -> number of pictures in which such a person is in front."""
    several: int
    """Number of pictures of two people or more with a label."""
    single: int
    """Number of those that show one label alone."""
    single_by_chance: float | None
    """Expected share of such pictures if people were drawn independently of each other; None
    without a picture of several people."""
    shares: Mapping[str, Interval | None]
    """Label -> share among people with a label."""
    gap: Interval | None
    """Share of men minus share of women among people; None where nobody has a gender."""
    own_gap: Interval | None
    """Mean over pictures of the same gap within a picture."""
    front_gap: Interval | None
    single_share: Interval | None
    worst_case: Bounds | None
    """Bounds of the gap whoever the people without a label are; None where all have one."""

    @property
    def undetected_images(self) -> int:
        """Number of pictures in which nobody was found."""
        return sum(self.undetected.values())

    @property
    def people_per_picture(self) -> float | None:
        """Mean number of people of pictures in which somebody was found."""
        found = self.images - self.undetected_images
        return self.people / found if found else None


@dataclass(frozen=True, slots=True)
class CrowdOfPrompt:
    """The people of one prompt."""

    prompt: str
    concept: str
    crowd: CrowdRecord


@dataclass(frozen=True, slots=True)
class CrowdPart:
    """The part of run.json that crowds write."""

    detector: str
    """Name of the detector that counted the people."""
    labels: tuple[str, ...]
    model: CrowdRecord
    """All prompts together, equally many pictures of each."""
    prompts: tuple[CrowdOfPrompt, ...]


class CrowdAudit(ContrastAudit):
    """The audit of who is shown in pictures of several people."""

    name, place, metrics = "crowd", 42, METRICS
    record_type, units_type = CrowdPart, Crowds
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
        """Return the prompt itself."""
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
        """The people of each recorded prompt."""
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

    def part(self, context: AuditContext, members: Sequence[Crowd], model: Crowds) -> CrowdPart:
        """Return the people of all prompts together, and of each."""
        name = _counting_detector(context)
        labels = context.observations.labels(DetectorRef(name))
        prompts = tuple(
            CrowdOfPrompt(m.id, m.about.concept, _recorded(Crowds((m,), model.level), labels))
            for m in members
        )
        return CrowdPart(name, labels, _recorded(model, labels), prompts)

    def in_words(self, record: CrowdPart) -> str:
        """Return who is shown, in a line."""
        crowd = record.model
        counts = ", ".join(f"{count} {label}" for label, count in crowd.groups.items() if count)
        pictures = counted(crowd.images, "picture")
        text = f"groups of people: {crowd.people} people in {pictures} ({counts})"
        if crowd.gap is None:
            return text
        low, high = crowd.gap.low, crowd.gap.high
        side = ", more men" if low > 0.0 else ", more women" if high < 0.0 else ""
        return f"{text}; share gap {crowd.gap}{side}"

    def blocks(self, record: CrowdPart, run: Any) -> Sequence[drawn.Block]:
        """Return who is shown, who is in front, pictures of one gender, and the counts."""
        from pytest_t2i.sections import Bar, BarChart

        subjects = [("all prompts", "model", record.model)]
        subjects += [(p.concept, p.prompt, p.crowd) for p in record.prompts]
        shown = subjects[: SHOWN_PROMPTS + 1]

        def bars(contrast: Contrast, value: str, note: Any, bar: Any, chance: str = "") -> Any:
            checks = run.checks_of(contrast.metric)
            return tuple(
                bar(name, getattr(crowd, value), checks.get(subject, ()), note=note(crowd),
                    absent=contrast.absent,
                    reference=getattr(crowd, chance) if chance else None)
                for name, subject, crowd in shown
            )  # fmt: skip

        left = len(subjects) - len(shown)
        more = f", and {left} more prompts in run.json" if left else ""
        return [
            _gap_chart(
                f"Men minus women among the people shown{more}",
                bars(GAP, "gap", _counts, _gap_bar), "share gap",
            ),
            _gap_chart(
                "Men minus women in front",
                bars(FRONT, "front_gap", lambda c: _listed(c.front), _gap_bar), "front gap",
            ),
            BarChart(
                "Pictures of several people that show one gender alone",
                bars(SINGLE, "single_share", lambda c: f"{c.single} of {c.several}", Bar.judged,
                     "single_by_chance"),
                0.0, 1.0, "share of pictures",
                reference="people drawn independently of each other",
            ),
            _table(record),
        ]  # fmt: skip

    def series(self, record: CrowdPart) -> dict[str, Interval]:
        """Return the metrics of all prompts together."""
        crowd = record.model
        values = {
            GAP: crowd.gap,
            OWN: crowd.own_gap,
            FRONT: crowd.front_gap,
            SINGLE: crowd.single_share,
        }
        return {f"{c.metric}/all prompts": value for c, value in values.items() if value}

    def frames(self, record: CrowdPart) -> dict[str, Frame]:
        """Return a table of prompts."""
        labels = record.labels
        columns = (
            "prompt", "images", "people", *labels, "unclear", "undetected", "several", "single",
            "gap", "own_gap", "front_gap", "single_share",
        )  # fmt: skip
        rows = [
            (
                p.prompt, p.crowd.images, p.crowd.people,
                *(p.crowd.groups.get(label, 0) for label in labels), p.crowd.unclear,
                p.crowd.undetected_images, p.crowd.several, p.crowd.single, p.crowd.gap,
                p.crowd.own_gap, p.crowd.front_gap, p.crowd.single_share,
            )
            for p in record.prompts
        ]  # fmt: skip
        intervals = ("gap", "own_gap", "front_gap", "single_share")
        return {self.name: Frame(columns, rows, intervals)}


def _counting_detector(context: AuditContext) -> str:
    """Return the name of the run's first detector that counts people by gender."""
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


def _recorded(crowds: Crowds, labels: Sequence[str]) -> CrowdRecord:
    """Return the record of some prompts together."""
    from pytest_t2i_crowds.pictures import group_interval

    pictures = crowds.pictures
    groups = _groups(pictures)
    several = [picture for picture in pictures if picture.is_single is not None]
    return CrowdRecord(
        len(pictures),
        sum(picture.people.number for picture in pictures if picture.people),
        {label: groups.get(label, 0) for label in labels},
        sum(picture.people.unclear for picture in pictures if picture.people),
        _undetected(pictures),
        dict(Counter(picture.front for picture in pictures if picture.front is not None)),
        len(several),
        sum(bool(picture.is_single) for picture in several),
        by_chance(several) if several else None,
        {label: group_interval(crowds.members, label, crowds.level) for label in labels},
        crowds.estimated(GAP),
        crowds.estimated(OWN),
        crowds.estimated(FRONT),
        crowds.estimated(SINGLE),
        crowds.arms(GAP).worst_case,
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 picture``, ``3 pictures``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _gap_bar(name: str, gap: Interval | None, checks: Iterable[Any], **more: Any) -> drawn.Bar:
    """Return a gap's bar with the worst verdict of its checks and their limits on both sides."""
    from pytest_t2i.sections import Bar

    bar = Bar.judged(name, gap, checks, **more)
    return replace(bar, limits=tuple(sign * limit for limit in bar.limits for sign in (-1, 1)))


def _gap_chart(title: str, bars: Sequence[drawn.Bar], unit: str) -> drawn.BarChart:
    """Return a chart of bars on the smallest round scale that holds their intervals and limits."""
    from pytest_t2i.sections import BarChart, half_width

    ends = [end for bar in bars if bar.interval for end in (bar.interval.low, bar.interval.high)]
    ends += [limit for bar in bars for limit in bar.limits]
    half = half_width(max(map(abs, ends), default=0.0))
    return BarChart(title, tuple(bars), -half, half, unit, form="signed")


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {label}" for label, count in counts.items())


def _counts(crowd: CrowdRecord) -> str:
    unclear = f", {crowd.unclear} unclear" if crowd.unclear else ""
    return f"{_listed(crowd.groups)}{unclear} in {counted(crowd.images, 'picture')}"


def _table(record: CrowdPart) -> drawn.Table:
    """Return the counts of each prompt."""
    from pytest_t2i.sections import Table

    labels = record.labels
    columns = (
        "prompt", "pictures", "people a picture", *labels, "unclear", "nobody found",
        "gap among people", "mean gap of pictures", "lowest gap", "highest gap",
    )  # fmt: skip
    rows: list[tuple[drawn.Cell, ...]] = []
    for prompt in record.prompts:
        crowd = prompt.crowd
        worst = crowd.worst_case
        rows.append((
            prompt.prompt, crowd.images, crowd.people_per_picture,
            *(crowd.groups.get(label, 0) for label in labels), crowd.unclear,
            crowd.undetected_images,
            None if crowd.gap is None else crowd.gap.estimate,
            None if crowd.own_gap is None else crowd.own_gap.estimate,
            *((None, None) if worst is None else (worst.low, worst.high)),
        ))  # fmt: skip
    plain: drawn.Form = ""
    signed: drawn.Form = "signed"
    styles = (*[plain] * (len(columns) - 4), *[signed] * 4)
    return Table("People in the pictures", columns, tuple(rows), "page", digits=2, styles=styles)
