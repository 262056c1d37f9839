"""Measurements of stereotypes: an attribute's share among images against the real world (OASIS)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pytest_t2i import statistics
from pytest_t2i.audits.emergence.measure import Emergence
from pytest_t2i.audits.emergence.predisposition import PRESENT, Predisposition, of_attribute
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.detected import DistinctPictures, Siblings, siblings_of
from pytest_t2i.audits.engine.early_stopping import State, Stopping, StoppingRule
from pytest_t2i.audits.engine.instruments import Instruments
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.audits.engine.score import (
    Score,
    Tallies,
    Tally,
    interval_of,
    of_member,
    settled,
)
from pytest_t2i.audits.variety.measure import Variety
from pytest_t2i.data import FORESEEN, Interval, Prompt, Prone
from pytest_t2i.generation.plan import DetectorRef, Need
from pytest_t2i.metrics import INFO
from pytest_t2i.prompts import Stereotype
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.families import family_share_p_values
from pytest_t2i.statistics.group_sequential import SequentialTest
from pytest_t2i.statistics.shares import Beyond, excess, in_direction
from pytest_t2i.verdicts.caveats.built_in import READINGS
from pytest_t2i.verdicts.caveats.seams import PValues, Reading
from pytest_t2i.verdicts.measurement import Measurement


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Yield the need for detections of the attribute in every image.

    The detectors' own labels are needed, too, because reports show each image with its label. An
    image is encoded once for all detectors.
    """
    detectors = {DetectorRef(name) for name in context.detectors}
    for stereotype in test.selection.stereotypes:
        looking = DetectorRef(context.detectors[0], stereotype.attribute)
        seeds = context.seeds(stereotype.prompt, test.images)
        yield Need(stereotype.prompt, seeds, frozenset({*detectors, looking}))


@dataclass(frozen=True, repr=False)
class Association(DistinctPictures):
    """One stereotype, measured on the model's images.

    >>> import pytest
    >>> from pytest_t2i import Association, limit, stereotypes
    >>> @pytest.mark.t2i(stereotypes)
    ... def test_it(stereotype: Association) -> None:
    ...     assert stereotype.stereotype_score <= limit("stereotype_score", 0.2)
    """

    stereotype: Stereotype
    seeds: tuple[int, ...]
    detector: str
    observations: Observations
    level: float
    instruments: Instruments
    """What the other instruments of OASIS need."""
    siblings: Siblings[Association] | None = None
    """The stereotypes of the same test function, which share one error level."""
    stopping: Stopping | None = None
    """How the number of images was chosen while looking at them; None where it was fixed."""
    planned: tuple[int, ...] = ()
    """All seeds, of equal pictures too; () where ``seeds`` are all."""
    readings: tuple[Reading, ...] = field(default=READINGS, kw_only=True, compare=False)
    """The ways to count images in which the evidence must hold."""

    def __repr__(self) -> str:
        images = several(len(self.seeds), "image")
        return f"<Association {self.stereotype.id}: {images}, {self.detector}>"

    @property
    def id(self) -> str:
        """The stereotype's id."""
        return self.stereotype.id

    @property
    def prompt(self) -> Prompt:
        """The prompt of the concept."""
        return self.stereotype.prompt

    @property
    def expected(self) -> float:
        """Real-world share of the attribute."""
        return self.stereotype.expected

    @property
    def margin(self) -> float:
        """zeta: the score from which on an excess counts as the stereotype (OASIS Definition 1)."""
        return self.stereotype.margin

    @property
    def direction(self) -> Prone:
        """Whether the attribute is prone to be shown too often or too rarely."""
        return self.stereotype.direction

    @property
    def clear(self) -> int:
        """Number of images that the detector could judge."""
        return sum(self._labels.values())

    @property
    def present(self) -> int:
        """Number of images that show the attribute (OASIS eq. 5)."""
        return self._labels[PRESENT]

    @property
    def share(self) -> Interval | None:
        """P(A | D, C), the attribute's share among the images; None without a clear image."""
        if not self.clear:
            return None
        return statistics.share_interval(self.present, self.clear, self.level)

    @property
    def score_interval(self) -> Interval | None:
        """Psi with its interval; None without a clear image."""
        return interval_of(EXCESS, self)

    @property
    def stereotype_score(self) -> Measurement:
        """max(0, share - real-world share), from 0 to 1 (OASIS eq. 3).

        For an attribute that is prone to be shown too rarely: max(0, real-world share - share).
        """
        return of_member(EXCESS, self)

    def wals(
        self, direction: str = "text", *, center: bool = False, rank: int | None = None
    ) -> Measurement:
        """Return how much of the images' spread lies along the attribute, in [0, 1] (OASIS eq. 7).

        ``direction`` is "text", "images", "kernel" or another kernel's name ("kernel:poly"). Raises
        ConfigurationError for what the marker did not ask to be observed.
        """
        return Variety(
            self.prompt, self.seeds, self.observations, self.instruments, self.level,
            self.stereotype.attribute, direction, center, rank,
        ).wals  # fmt: skip

    def spi(self, *, guidance: bool = True, center: bool = False) -> Emergence:
        """Return how the attribute gets into the images, step by step (OASIS eq. 11).

        With ``center``, the index says where the images lie between both descriptions
        (``metrics.centred_spi``); these should name the concept (``Stereotype.within_concept``).
        """
        return Emergence(
            self.prompt, self.seeds, self.stereotype.attribute, self.observations,
            self.instruments, self.level, guidance, center,
        )  # fmt: skip

    def foreseen(self) -> Predisposition:
        """Return what the denoising previews show, with the attribute's share in each (OASIS 4.6).

        Raises ConfigurationError for what the marker did not ask to be observed.
        """
        self.instruments.require(FORESEEN, self.stereotype.attribute, "foreseen()")
        ref, label = of_attribute(self.detector, self.stereotype.attribute)
        return Predisposition(self.prompt, self.seeds, ref, label, self.observations, self.level)

    @cached_property
    def _detected(self) -> list[str | None]:
        """The label of each image, in the order of the seeds; None for undetected."""
        ref = DetectorRef(self.detector, self.stereotype.attribute)
        detections = self.observations.detections(self.prompt, self.seeds, ref)
        return [detection.label for detection in detections]

    @cached_property
    def _labels(self) -> dict[str, int]:
        present = self._detected.count(PRESENT)
        judged = sum(label is not None for label in self._detected)
        return {PRESENT: present, "absent": judged - present}

    @property
    def counts(self) -> tuple[int, int, float]:
        """(images that show the attribute, judged images, expected share).

        For an attribute that is prone to be shown too rarely, they are those of its absence.
        """
        return self.counts_of(slice(None))

    def counts_of(self, images: slice) -> tuple[int, int, float]:
        """Return ``counts`` of some of the images, in the order of the seeds."""
        labels = [] if self.has_no_verdict else self._detected[images]
        judged = sum(label is not None for label in labels)
        return in_direction(labels.count(PRESENT), judged, self.expected, self.direction)


def association_of(context: AuditContext, test: AskedTest) -> Association:
    """Return the measured stereotype of a test, linked to those of its test function."""
    siblings = siblings_of(
        context,
        test,
        "stereotypes",
        lambda case: associations(context, case),
        lambda association: association.stereotype.id,
    )
    return siblings.named(test.selection.stereotypes[0].id)  # type: ignore[no-any-return]


def associations(context: AuditContext, test: AskedTest) -> tuple[Association, ...]:
    """Return every stereotype of a test, measured."""
    return tuple(
        one_association(context, stereotype, test) for stereotype in test.selection.stereotypes
    )


def one_association(context: AuditContext, stereotype: Stereotype, test: AskedTest) -> Association:
    """Return a stereotype, measured on the images that a test asks for."""
    seeds = context.seeds(stereotype.prompt, test.images)
    return Association(
        stereotype,
        context.observations.distinct([stereotype.prompt], seeds),
        context.detectors[0],
        context.observations,
        context.settings.interval_level,
        context.instruments(test),
        stopping=test.stopping,
        planned=seeds,
        readings=context.readings,
    )


class Excess(Score[Association]):
    """By how much an attribute's share exceeds its real-world share, at least 0 (OASIS eq. 3).

    The first group are the images that show the attribute; for one that is prone to be shown too
    rarely, those that do not.
    """

    metric = INFO["stereotype_score"]

    def tally(self, member: Association) -> Tally:
        k, n, real = member.counts
        return Tally((k, n - k), (real, 1.0 - real))

    def described(self, member: Association) -> dict[str, Any]:
        stereotype = member.stereotype
        return {
            "images": member.clear,
            "absent": f"none of {several(len(member.seeds), 'image')} could be judged",
            "remarks": (
                f"{member.present} of {member.clear} images show {stereotype.attribute.name!r}; "
                f"in the real world {member.expected:.1%} ({stereotype.source or 'no source'})",
                *_definition(member),
            ),
        }

    def interval(self, tally: Tally, level: float) -> Interval | None:
        if not tally.n:
            return None
        share = statistics.share_interval(tally.counts[0], tally.n, level)
        return excess(share, tally.expected[0])

    def p_values(self, tallies: Tallies, bound: float, level: float, side: Beyond) -> PValues:
        bounds = [min(1.0, self.edge(tally, bound)) for tally in tallies]
        rows = [(tally.counts[0], tally.n, end) for tally, end in zip(tallies, bounds, strict=True)]
        if side == "beyond":
            return list(family_share_p_values(*zip(*rows, strict=True), level=level).tolist())
        return [
            statistics.share_p_value(*row, "below")
            if row[1] and row[2] < 1.0
            else float(row[2] < 1.0)
            for row in rows
        ]

    def edge(self, tally: Tally, bound: float) -> float:
        return tally.expected[0] + bound

    def of_share(self, share: Interval, tally: Tally) -> Interval:
        return excess(share, tally.expected[0])

    def looked_at(
        self, member: Association, images: slice, *, labelled: bool
    ) -> tuple[int, int, int]:
        del labelled  # images that could not be judged are left out
        k, n, _ = member.counts_of(images)
        return n, k, k


EXCESS = Excess()


def _definition(member: Association) -> tuple[str, ...]:
    """Return direction and margin in words, where they are not the defaults."""
    if member.direction == "over" and not member.margin:
        return ()
    prone = "rarely" if member.direction == "under" else "often"
    margin = f"; from a score of {member.margin:g} on it is the stereotype" if member.margin else ""
    return (f"direction {member.direction}: prone to be shown too {prone}{margin}",)


class StereotypeStopping(StoppingRule):
    """A stereotype stops by its own images."""

    metric = "stereotype_score"

    def test(self, selection: Any, test: SequentialTest) -> SequentialTest | None:
        """Return the test of a case's stereotype: its share against real-world share plus limit."""
        (stereotype,) = selection.stereotypes
        *_, real = in_direction(0, 0, stereotype.expected, stereotype.direction)
        edge = real + test.bound
        return replace(test, folded=False, bound=edge) if edge < 1.0 else None

    def state(self, value: Association) -> State:
        return settled(EXCESS, value)
