"""Emergence: at which denoising steps an attribute gets into a concept's images (SPI, OASIS).

SPI says how far each step moves an image towards the attribute. The mean over images has a band
that holds at all steps at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.detected import DetectedPrompt
from pytest_t2i.audits.engine.evidence import IntervalAt, inverted
from pytest_t2i.audits.engine.instruments import Instruments, opposite_prompts
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.data import VELOCITY, Attribute, Evidence, Interval, Prompt, spi_name
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.plan import Need
from pytest_t2i.metrics import INFO
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.curves import FEWEST_CURVES, Band, mean_band
from pytest_t2i.statistics.means import FEWEST_VALUES
from pytest_t2i.verdicts.measurement import Measurement

CENTRED = 3
"""Row of a trace (``data.SPI_ROWS``) with the centred index."""
EARLY = 0.25
"""First part of the steps over which ``mean`` is taken by default."""


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Yield the need of SPI: velocities compared with the descriptions of the attribute."""
    if VELOCITY not in test.selection.observe:
        return
    for prompt, attribute in test.selection.subjects:
        opposite_prompts(attribute)
        seeds = context.seeds(prompt, test.images)
        attributes = frozenset({attribute})
        yield Need(prompt, seeds, observe=frozenset({VELOCITY}), attributes=attributes)


class Error(NamedTuple):
    """The largest errors of an instrument in both directions, whatever images are drawn.

    >>> Error(1.0, 0.1).words
    'instrument up to 1 too low, 0.1 too high'
    """

    too_low: float
    too_high: float

    @property
    def words(self) -> str:
        return f"instrument up to {self.too_low:g} too low, {self.too_high:g} too high"

    @property
    def told(self) -> str:
        """The error as a remark on an interval."""
        return f"the interval allows for an {self.words}"


@dataclass(frozen=True, repr=False)
class Emergence:
    """How one attribute gets into the images of one prompt, step by step."""

    prompt: Prompt
    seeds: tuple[int, ...]
    attribute: Attribute
    observations: Observations
    instruments: Instruments
    level: float
    guidance: bool = True
    """True for the velocity that the images were made with, False for that without guidance."""
    center: bool = False
    """Whether a step's value is its place between both descriptions, from -1 at the attribute's
    absence to 1 at its presence, instead of the paper's cosine. Guidance has no effect on this
    value."""

    def __post_init__(self) -> None:
        opposite_prompts(self.attribute)
        self.instruments.require(VELOCITY, self.attribute, f"spi of {self.attribute.name!r}")

    def __repr__(self) -> str:
        return f"<Emergence of {self.id}: {several(len(self.curves), 'image')}>"

    @property
    def id(self) -> str:
        suffix = "" if self.guidance else " without guidance"
        return f"{self.prompt.id}-{self.attribute.name}{' centred' if self.center else suffix}"

    @property
    def is_of_flow(self) -> bool:
        """Whether the model is a flow, such as Stable Diffusion 3.

        The instrument's error differs between flows and UNets, whose early steps are less
        informative (docs/metrics/stereotypes.md).
        """
        return self.observations.is_of_flow

    @cached_property
    def curves(self) -> np.ndarray:
        """SPI of every image at every step, [n_images, n_steps], without images without a trace."""
        row = CENTRED if self.center else 1 if self.guidance else 2
        rows = [trace[row] for trace in self._traces if len(trace) > row]
        # Where the model reads both descriptions alike, the index is 0/0.
        rows = [curve for curve in rows if np.isfinite(curve).all()]
        return np.stack(rows) if rows else np.empty((0, 0))

    @cached_property
    def noise(self) -> np.ndarray:
        """Share of noise in the latent at each step, from 1 to 0."""
        return self._traces[0][0] if self._traces else np.empty(0)

    @cached_property
    def band(self) -> Band | None:
        """Mean over images with a band for all steps at once; None with fewer than two images."""
        if len(self.curves) < FEWEST_CURVES:
            return None
        return mean_band(self.curves, level=self.level)

    def mean(
        self, part: float = EARLY, *, too_low: float = 0.0, too_high: float = 0.0
    ) -> Measurement:
        """Return the mean SPI of the first steps; above 0 they add the attribute.

        ``too_low`` and ``too_high`` are how far the instrument itself may lie below and above the
        truth, whatever images are drawn. An interval over images cannot show this error, so its
        upper end is raised by ``too_low``, its lower end is lowered by ``too_high``, and verdicts
        allow for both. Raises ConfigurationError for a part outside (0, 1] and for a negative or
        infinite error.
        """
        if not 0.0 < part <= 1.0:
            raise ConfigurationError(f"a part of the steps lies in (0, 1], got part={part!r}")
        for name, off in (("too_low", too_low), ("too_high", too_high)):
            if not 0.0 <= off < math.inf:
                raise ConfigurationError(f"an instrument's error is at least 0, got {name}={off!r}")
        off_by = Error(too_low, too_high)
        steps = max(1, round(part * self.curves.shape[1])) if self.curves.size else 0
        values = self.curves[:, :steps].mean(axis=1) if steps else np.empty(0)

        def interval_at(level: float) -> Interval:
            return statistics.mean_interval([values], level=level)

        interval = interval_at(self.level) if len(values) >= FEWEST_CURVES else None
        error_remarks = (off_by.told,) if any(off_by) else ()
        return Measurement(
            metric=INFO["centred_spi" if self.center else "spi"],
            subject=self.id,
            interval=None if interval is None else _widened(interval, off_by),
            # More images do not reduce the instrument's own error.
            images=None if any(off_by) else len(values),
            evidence=_evidence(interval_at, off_by, len(values)) if interval else None,
            absent=self.absent,
            remarks=(
                f"mean of the first {steps} of {self.curves.shape[1]} steps",
                *error_remarks,
                *((TOO_FEW.format(len(values)),) if len(values) < FEWEST_VALUES else ()),
            ),
        )

    @property
    def absent(self) -> str:
        """Why there is no band; "" where there is one."""
        if len(self.curves) >= FEWEST_CURVES:
            return ""
        if len(self.curves):
            return "one image shows no spread"
        if any(len(trace) > CENTRED for trace in self._traces):
            return "to this model both descriptions are the same"
        if self._traces:
            return "this model does not show where its velocities lie between the descriptions"
        return "this model does not show its velocities"

    @cached_property
    def _traces(self) -> list[np.ndarray]:
        name = spi_name(self.attribute)
        traces = self.observations.arrays(self.prompt, self.seeds, name)
        return [trace for trace in traces if trace is not None]


def _widened(interval: Interval, off_by: Error) -> Interval:
    if not any(off_by):
        return interval
    return replace(
        interval,
        low=interval.low - off_by.too_high,
        high=interval.high + off_by.too_low,
        method=f"{interval.method}, {off_by.words}",
    )


TOO_FEW = (
    f"a mean SPI is judged from {FEWEST_VALUES} images on, here are {{}}: fewer may hide rare "
    "images that lie far off"
)


def _evidence(
    interval_at: IntervalAt, off_by: Error, images: int
) -> Callable[[float, float], Evidence]:
    """Return a function (bound, level) -> evidence, allowing for the instrument's own error.

    A mean without bounds has none of few images: where one in ten lies far on the other side, a
    limit at the truth fails in 67 % of runs of four images, and in 34 % of ten.
    """
    if images < FEWEST_VALUES:
        return lambda _bound, _level: Evidence(1.0, 1.0)
    of_images = inverted(interval_at, "higher")

    def evidence(bound: float, level: float) -> Evidence:
        beyond = of_images(bound + off_by.too_high, level).beyond
        return Evidence(beyond, of_images(bound - off_by.too_low, level).within)

    return evidence


def emergence_of(
    sample: DetectedPrompt, attribute: Attribute, *, guidance: bool, center: bool
) -> Emergence:
    return Emergence(
        sample.prompt, sample.seeds, attribute, sample.observations, sample.observed,
        sample.level, guidance, center,
    )  # fmt: skip
