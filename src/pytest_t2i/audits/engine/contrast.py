"""A contrast: a bounded value of each image, in one arm of prompts or as the gap between two.

An audit of this kind says which prompts each unit (a triplet, a prompt) has, and what value an
image has. Needs, equal pictures, intervals, families, the record and the section follow. Nothing
here imports numpy, because every start of pytest loads the audits' classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

from pytest_t2i.audits.audit import About, Audit, Fixture
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import EMPTY, Detection, Interval, Prompt, Row
from pytest_t2i.data import About as AboutOne
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.sections import RowChart
from pytest_t2i.sections.words import several

if TYPE_CHECKING:
    from pytest_t2i.audits.engine.detected import Siblings
    from pytest_t2i.audits.engine.estimators import Arms
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Block
    from pytest_t2i.verdicts.baseline_file import Baseline
    from pytest_t2i.verdicts.measurement import Change, Family, Measurement

NAMED = 5
"""Largest number of units that a failure text names."""
EstimatorName = Literal["bounded mean", "mean", "paired shares", "share", "share by prompt"]


@dataclass(frozen=True, slots=True)
class Contrast:
    """One measured quantity: the mean value of one arm, or of the first arm minus the second.

    >>> Contrast("refusal_gap", ("feminine", "masculine"), "paired shares").name
    'feminine minus masculine'
    """

    metric: str
    arms: tuple[str, ...]
    """One arm or two."""
    estimator: EstimatorName = "bounded mean"
    """"bounded mean" for pairs of any bounded values, "mean" for pairs that are not drawn, such as
    texts; the others are for values of 0 and 1."""
    absent: str = "no image has a value"
    """Reason for which there is no interval."""
    unknown: tuple[float, float] | None = (0.0, 1.0)
    """Smallest and largest value that an unknown one may have: a verdict holds whichever it is.
    None leaves unknown values out."""
    shows_worst_case: bool = True
    """Whether checks show the bounds of the estimate whatever unknown values are."""

    @property
    def name(self) -> str:
        """The arms in words."""
        return " minus ".join(self.arms)


@dataclass(frozen=True, eq=False, repr=False)
class Unit:
    """The values of one triplet or prompt.

    >>> Unit(Prompt("a nurse", "job", "nurse"), {"plain": [1.0, 0.0, math.nan]}, 0.95).counts
    {'plain': 1}
    """

    about: Any
    """The triplet or the prompt."""
    values: Mapping[str, Sequence[float]]
    """Arm -> value of each image; NaN where it is unknown."""
    level: float
    siblings: Siblings[Any] | None = None
    """The units of the same test function, which share one error level."""
    alike: float = 0.0
    """Share of unknown values up to which they are taken to be like the others."""

    @property
    def id(self) -> str:
        """Id of the prompt; of a triplet, of its neutral prompt."""
        return str(self.about.id)

    @property
    def name(self) -> str:
        """Name of the prompt; of a triplet, of its neutral prompt."""
        return str(getattr(self.about, "neutral", self.about).name)

    @property
    def images(self) -> int:
        """Number of images of each arm."""
        return max((len(values) for values in self.values.values()), default=0)

    @property
    def counts(self) -> dict[str, int]:
        """Arm -> number of images whose value is above 0."""
        return {arm: sum(value > 0.0 for value in row) for arm, row in self.values.items()}

    def known(self, arm: str) -> int:
        """Return how many values of an arm are known."""
        return sum(not math.isnan(value) for value in self.values[arm])

    def mean(self, arm: str) -> float | None:
        """Return the mean of an arm's known values; None without any."""
        numbers = [value for value in self.values[arm] if not math.isnan(value)]
        return sum(numbers) / len(numbers) if numbers else None

    def first(self, images: int) -> Self:
        """Return the unit with its first images alone."""
        return replace(self, values={arm: row[:images] for arm, row in self.values.items()})

    def measured(
        self,
        contrast: Contrast,
        remarks: Iterable[str] = (),
        kind: type[Units[Any]] | None = None,
        **more: Any,
    ) -> Measurement:
        """Return the measurement of this unit, tested together with its siblings.

        ``kind`` is the class of several such units, where an audit has its own.
        """
        from pytest_t2i.audits.engine.detected import Siblings

        def units_of(members: Sequence[Any]) -> Units[Any]:
            return (kind or Units)(tuple(members), self.level, alike=self.alike)

        def family(members: Sequence[Any]) -> Family:
            return units_of(members).family(contrast)

        together = self.siblings or Siblings([self], [self.id])
        values: dict[str, Any] = {
            "images": self.images,
            "is_of_model": False,
            "evidence": None,
            "family": together.family(contrast, family),
            "place": together.places[self.id],
        }
        return units_of([self]).measured(contrast, self.id, remarks, **(values | more))


class Valued(Protocol):
    """A unit with the values of its images."""

    @property
    def values(self) -> Mapping[str, Sequence[float]]:
        """Arm -> value of each image; NaN where it is unknown."""

    @property
    def images(self) -> int:
        """Number of images of each arm."""


U = TypeVar("U", bound=Valued)


@dataclass(frozen=True, repr=False)
class Units(Generic[U]):
    """The values of several units, from which contrasts are computed.

    >>> Units((Unit(Prompt("a nurse", "job", "nurse"), {"plain": [1.0, 0.0]}, 0.95),), 0.95).images
    2
    """

    members: tuple[U, ...]
    level: float
    alike: float = 0.0
    """Share of unknown values up to which they are taken to be like the others."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.members)} triplets>"

    @property
    def images(self) -> int:
        """Number of images of each arm."""
        return sum(member.images for member in self.members)

    def hits(self, arm: str) -> int:
        """Return how many values of an arm are above 0."""
        return sum(value > 0.0 for member in self.members for value in member.values[arm])

    def estimated(self, contrast: Contrast) -> Interval | None:
        """Return the interval of a contrast; None where too few values are known."""
        return self.arms(contrast).interval(self.level)

    def measured(
        self, contrast: Contrast, subject: str = "model", remarks: Iterable[str] = (), **more: Any
    ) -> Measurement:
        """Return the measurement of a contrast, with all that a verdict needs."""
        from pytest_t2i.verdicts.measurement import Measurement

        arms = self.arms(contrast)
        interval = arms.interval(self.level)
        values: dict[str, Any] = {
            "evidence": None if interval is None else arms.evidence,
            "worst_case": arms.worst_case if contrast.shows_worst_case else None,
            "is_of_model": True,
            "absent": contrast.absent,
        }
        return Measurement(
            metric=arms.metric,
            subject=subject,
            interval=interval,
            remarks=(*remarks, *self._left_out(contrast)),
            **(values | more),
        )

    def family(self, contrast: Contrast) -> Family:
        """Return the contrast of each unit alone; all share one error level."""
        from pytest_t2i.audits.engine.estimators import contrast_family

        of_members = [replace(self, members=(member,)).arms(contrast) for member in self.members]
        return contrast_family(of_members, self.level)

    def arms(self, contrast: Contrast) -> Arms:
        """Return the values of a contrast, for its estimator."""
        import numpy as np

        from pytest_t2i.audits.engine.estimators import ESTIMATORS, Arms
        from pytest_t2i.metrics import INFO

        return Arms(
            [tuple(np.array(m.values[arm], float) for arm in contrast.arms) for m in self.members],
            ESTIMATORS[contrast.estimator],
            INFO[contrast.metric],
            contrast.unknown,
            self.alike,
        )

    def _left_out(self, contrast: Contrast) -> Iterator[str]:
        rows = [m.values[arm] for m in self.members for arm in contrast.arms]
        lost = sum(math.isnan(value) for row in rows for value in row)
        if lost and contrast.unknown is None:
            yield f"{several(lost, 'image')} without a value left out"


class ContrastAudit(Audit):
    """An audit of one contrast; a subclass names its prompts, its value and its words.

    >>> class Brightness(ContrastAudit):
    ...     name, fixture, title = "brightness", "brightness", "Brightness"
    ...     contrast = Contrast("brightness_gap", ("feminine", "masculine"))
    >>> Brightness().fixtures["brightness"].about
    'triplets'
    """

    contrast: Contrast
    """The contrast of the audit."""
    about: ClassVar[About] = "triplets"
    """What the marker names: each is a unit."""
    fixture: str
    """Name of the fixture of all units."""
    doc: str = ""
    """Text of the fixture in ``pytest --fixtures``."""
    single: str = ""
    """Name of the fixture of one unit, for one test case each; "" for none."""
    single_doc: str = ""
    detectors: Literal["none", "first", "all"] = "first"
    """Which of the run's detectors examine the images."""
    units_type: type[Units[Any]] = Units

    # what is made, and what is measured of it

    def check(self, context: AuditContext, test: AskedTest) -> None:
        """Refuse a metric that is not registered, and one whose sign says what is worse."""
        from pytest_t2i.metrics import INFO

        del context
        if not self.is_asked(test):
            return
        if self.contrast.metric not in INFO:
            raise UnknownNameError(f"metric of the audit {self.name!r}", self.contrast.metric, INFO)
        metric = INFO[self.contrast.metric]
        if len(self.contrast.arms) > 1 and metric.worse != "away_from_zero":
            raise ConfigurationError(
                f"audit {self.name!r}: a gap of two arms is judged by its size: expected the "
                f"metric {metric.name!r} with worse='away_from_zero', got {metric.worse!r}"
            )

    def arms(self, unit: Any) -> Mapping[str, Prompt]:
        """Return the prompt of each arm of a unit."""
        return {arm: getattr(unit, arm) for arm in self.contrast.arms}

    def values(
        self, context: AuditContext, prompt: Prompt, seeds: Sequence[int]
    ) -> Sequence[float]:
        """Return the value of each image of a prompt; NaN where it is unknown."""
        del context, prompt, seeds
        raise ConfigurationError(
            f"audit {self.name!r}: define values(context, prompt, seeds), which returns the value "
            "of each image of a prompt, NaN where it is unknown"
        )

    def units(self, test: AskedTest) -> Sequence[Any]:
        """Return the units that a test names."""
        units: Sequence[Any] = getattr(test.selection, self.about)
        return units

    def unit(self, context: AuditContext, unit: Any, test: AskedTest) -> Any:
        """Return what is measured of a unit, with the images that a test asks for."""
        arms, settings = self.arms(unit), context.settings
        seeds = self.seeds(context, unit, test, is_distinct=True)
        values = {
            arm: self._checked(self.values(context, arms[arm], seeds[arm]), len(seeds[arm]))
            for arm in arms
        }
        return Unit(unit, values, settings.interval_level, alike=settings.undetected_alike)

    def _checked(self, values: Sequence[float], images: int) -> Sequence[float]:
        """Return the values; raise ConfigurationError for a wrong number, or one out of bounds."""
        from pytest_t2i.metrics import INFO

        metric, values = INFO[self.contrast.metric], list(values)
        if len(values) != images:
            raise ConfigurationError(
                f"audit {self.name!r}: values() must return one value per image, NaN where it is "
                f"unknown: expected {images}, got {len(values)}"
            )
        low, high = self.contrast.unknown or (metric.low, metric.high)
        is_share = "share" in self.contrast.estimator
        for value in values:
            if not (math.isnan(value) or (value in {0, 1} if is_share else low <= value <= high)):
                expected = "0, 1" if is_share else f"a number from {low:g} to {high:g}"
                raise ConfigurationError(
                    f"audit {self.name!r}: values() must return {expected} or NaN for each image "
                    f"({self.contrast.estimator}), got {value!r}"
                )
        return values

    def seeds(
        self, context: AuditContext, unit: Any, test: AskedTest, *, is_distinct: bool
    ) -> dict[str, tuple[int, ...]]:
        """Return the seeds of each arm, those of equal pictures once if asked for."""
        arms = self.arms(unit)
        seeds = context.seeds(getattr(unit, "neutral", next(iter(arms.values()))), test.images)
        if is_distinct:
            seeds = context.observations.distinct(tuple(arms.values()), seeds)
        return dict.fromkeys(arms, seeds)

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Yield the need for the prompts of every unit, where a test asks for a fixture."""
        from pytest_t2i.generation.plan import DetectorRef, Need

        if not self.is_asked(test):
            return
        names = {"none": (), "first": context.detectors[:1], "all": context.detectors}
        refs = frozenset(DetectorRef(name) for name in names[self.detectors])
        for unit in self.units(test):
            seeds = self.seeds(context, unit, test, is_distinct=False)
            for arm, prompt in self.arms(unit).items():
                yield Need(prompt, seeds[arm], refs)

    def detections(
        self, context: AuditContext, prompt: Prompt, seeds: Sequence[int]
    ) -> Sequence[Detection]:
        """Return what the deciding detector says of each image."""
        from pytest_t2i.generation.plan import DetectorRef

        ref = DetectorRef(context.detectors[0])
        return context.observations.detections(prompt, tuple(seeds), ref)

    def is_asked(self, test: AskedTest) -> bool:
        """Return whether a test uses a fixture of the audit."""
        return not self.fixtures.keys().isdisjoint(test.selection.fixtures)

    @cached_property
    def fixtures(self) -> Mapping[str, Fixture]:  # type: ignore[override]
        """The fixtures of all units, and of one."""
        fixtures = {self.fixture: Fixture(self.measured, self.about, doc=self.doc)}
        if self.single:
            fixture = Fixture(self.measured_one, self.about, one_by_one=True, doc=self.single_doc)
            fixtures[self.single] = fixture
        return fixtures

    def measured(self, context: AuditContext, test: AskedTest) -> Any:
        """Return the value of the fixture of all units."""
        units = self.of_units(context, [self.unit(context, u, test) for u in self.units(test)])
        if type(units) is not Units:
            return units
        return self._comparable(units.measured(self.contrast))

    def measured_one(self, context: AuditContext, test: AskedTest) -> Any:
        """Return the value of the fixture of one unit, linked to the other cases of its test."""
        from pytest_t2i.audits.engine.detected import siblings_of

        def measure(case: AskedTest) -> list[Any]:
            return [self.unit(context, unit, case) for unit in self.units(case)]

        siblings = siblings_of(context, test, self.about, measure, lambda unit: unit.id)
        unit = siblings.named(self.units(test)[0].id)
        if type(unit) is not Unit:
            return unit
        return self._comparable(unit.measured(self.contrast))

    # the baseline, where the metric is declared with ``in_baselines``

    @property
    def recorded_type(self) -> Any:
        """The intervals of a baseline by subject."""
        return dict[str, Interval]

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """Return the interval of each row that a baseline can be compared with."""
        from pytest_t2i.metrics import INFO

        metric = INFO.get(self.contrast.metric)
        if metric is None or not metric.in_baselines:
            return None
        rows = (row for row in self.rows(context) if isinstance(row, Row))
        recorded = {
            row.subject: asdict(row.interval)
            for row in rows
            if row.metric == metric.name and row.interval is not None
        }
        return recorded or None

    def _comparable(self, measurement: Measurement) -> Measurement:
        return replace(measurement, change=partial(self._change, measurement))

    def _change(
        self, measurement: Measurement, baseline: Baseline, margin: float | None, level: float
    ) -> Change:
        """Return the worsening against the recorded interval of the same subject."""
        from pytest_t2i.verdicts.baseline import worsening
        from pytest_t2i.verdicts.measurement import TOLERATED, Change

        metric, now = measurement.metric, measurement.interval
        recorded = (baseline.part(self.name, self.recorded_type) or {}).get(measurement.subject)
        if recorded is None or now is None:
            reason = measurement.absent if now is None else "the baseline has no such value"
            tolerated = TOLERATED if margin is None else margin
            return Change.absent_because(metric, tolerated, f"{reason}: {measurement.subject}")
        return worsening(metric, recorded, now, margin=margin, level=level)

    def of_units(self, context: AuditContext, members: Sequence[Any]) -> Units[Any]:
        """Return the measured units together."""
        s = context.settings
        return self.units_type(tuple(members), s.interval_level, s.undetected_alike)

    # the record

    def rows(self, context: AuditContext) -> Iterable[Row]:
        """Yield what every unit that tests ask for shows; nothing without such a test."""
        members = self.widest(context, [test for test in context.tests if self.is_asked(test)])
        if not members:
            return ()
        least = min(member.images for member in members)
        together = self.of_units(context, [m.first(least) for m in members])
        return self.rows_of(context, members, together)

    def widest(self, context: AuditContext, tests: Iterable[AskedTest]) -> list[Any]:
        """Return what is measured of each unit once, with the test that asks for most images."""
        from pytest_t2i.audits.engine.counts import widest_of

        pairs = widest_of((unit, test) for test in tests for unit in self.units(test))
        return [self.unit(context, unit, test) for unit, test in pairs]

    def rows_of(self, context: AuditContext, members: Sequence[Any], model: Any) -> Iterable[Row]:
        """Yield the contrast of all units, then that of each.

        ``members`` have all of their images, those of ``model`` equally many.
        """
        facts = {} if self.detectors == "none" else {"detector": context.detectors[0]}
        yield row_of(self.contrast, model, facts=facts)
        arms = self.contrast.arms
        for member in members:
            means = {f"mean_{arm}": member.mean(arm) for arm in arms}
            arm_facts = {f"known_{arm}": member.known(arm) for arm in arms}
            yield row_of(
                self.contrast, Units((member,), model.level), member, arm_facts, means,
                about=SINGLE[self.about],
            )  # fmt: skip

    # the section, and what is shown outside of it

    def in_words(self, rows: Rows) -> str:
        """Return what was measured in a line."""
        row = rows.rows[0]
        value = row.absent if row.value is None else row.value
        images = row.counts["images"]
        return f"{self.title.lower()}: {self.contrast.name} {value} of {images} images each"

    def blocks(self, rows: Rows, run: Any) -> Sequence[Block]:
        """Return the chart of all units, and that of each."""
        del rows, run
        metrics, arms = (self.contrast.metric,), self.contrast.arms
        columns = ("images", *(f"mean_{arm}" for arm in arms))
        return [
            RowChart("All together", metrics),
            RowChart("Each prompt", metrics, SINGLE[self.about], columns=columns, level="page"),
        ]


SINGLE: Mapping[str, AboutOne] = MappingProxyType(
    {"prompts": "prompt", "triplets": "triplet", "stereotypes": "stereotype"}
)
"""What the marker names -> what a row of one of them is about."""


def row_of(
    contrast: Contrast,
    units: Units[Any],
    member: Any = None,
    counts: Mapping[str, int] = EMPTY,
    facts: Mapping[str, Any] = EMPTY,
    *,
    about: AboutOne = "model",
    subject: str = "model",
) -> Row:
    """Return the row of a contrast over units; ``member`` is the only one, None of them all."""
    value, images = units.estimated(contrast), units.images
    return Row(
        contrast.metric,
        subject if member is None else member.id,
        about,
        value,
        {"arms": contrast.name} if member is None else {},
        dict(facts) if member is None else {"name": member.name, **facts},
        {"images": images, **counts},
        "" if value is not None else contrast.absent,
    )


def words_of_gap(gap: Interval | None, above: str, below: str) -> str:
    """Return the words for a gap whose interval lies above 0, or below; "" where it holds 0."""
    if gap is None or gap.low <= 0.0 <= gap.high:
        return ""
    return above if gap.low > 0.0 else below
