"""Variety: WALS along an attribute's directions, and what it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.detected import DetectedPrompt
from pytest_t2i.audits.engine.evidence import inverted
from pytest_t2i.audits.engine.instruments import Instruments, opposite_prompts
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.audits.variety.change import APART, RecordedVariety, mean_variety_change
from pytest_t2i.data import Attribute, FactKind, Interval, Prompt, digest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.plan import ATTRIBUTE_IMAGES, FEATURES, Need
from pytest_t2i.metrics import INFO, attribute_presence, supervised_direction
from pytest_t2i.metrics.attribute_direction import KERNELS
from pytest_t2i.sections.words import several as counted
from pytest_t2i.statistics.variety import (
    FEWEST_IMAGES,
    FEWEST_OF_EACH,
    mean_wals_interval,
    wals_at_level,
    wals_interval,
)
from pytest_t2i.verdicts.measurement import Measurement


def _unit_features(features: np.ndarray) -> np.ndarray:
    """Return features scaled to unit length; CLIP features are compared by cosines.

    >>> _unit_features(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    plain = np.asarray(features, dtype=np.float64)
    return plain / (np.linalg.norm(plain) or 1.0)


KERNEL = "rbf"
"""Kernel of direction "kernel"; "kernel:poly" names another."""
DIRECTIONS = ("text", "images", "kernel", *(f"kernel:{name}" for name in KERNELS))
ALIKE = 1e-5
"""Largest difference between entries of unit features of the same picture."""


def _text_direction(present: np.ndarray | None, absent: np.ndarray | None) -> np.ndarray | None:
    """Return the difference of the descriptions' unit features (OASIS eq. 6), or None.

    >>> _text_direction(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    array([ 1., -1.])
    """
    if present is None or absent is None or _differ_by_rounding_alone([present, absent]):
        return None
    return np.asarray(present - absent)


def _image_direction(direction: str, present: np.ndarray, absent: np.ndarray) -> np.ndarray | None:
    """Return the supervised direction from images of both descriptions (OASIS eq. 12-16).

    Features are [n_images, d] each. Returns None without a difference.

    >>> _image_direction("images", np.array([[1.0, 0.0]]), np.array([[0.0, 0.0]]))
    array([1., 0.])
    """
    if (
        not len(present)
        or not len(absent)
        or _differ_by_rounding_alone([present.mean(0), absent.mean(0)])
    ):
        return None
    labels = np.repeat([1, 0], [len(present), len(absent)])
    kernel = "linear" if direction == "images" else _kernel_of(direction)
    return supervised_direction(np.concatenate([present, absent]), labels, kernel)


def _kernel_of(direction: str) -> str:
    """Return the kernel that a direction names.

    >>> _kernel_of("kernel"), _kernel_of("kernel:poly")
    ('rbf', 'poly')
    """
    return direction.partition(":")[2] or KERNEL


def _differ_by_rounding_alone(rows: Sequence[np.ndarray] | np.ndarray) -> bool:
    """Return whether features differ by rounding alone.

    >>> _differ_by_rounding_alone([np.array([0.1, 0.2]), np.array([0.1, 0.2 + 1e-7])])
    True
    """
    return bool(np.ptp(np.asarray(rows), axis=0).max() <= ALIKE)


METHOD = 2
"""Version of the measurement; stored results of another version are not used."""


@dataclass(frozen=True, repr=False)
class Variety:
    """The variety of one prompt's images along one attribute."""

    prompt: Prompt
    seeds: tuple[int, ...]
    observations: Observations
    instruments: Instruments
    level: float
    attribute: Attribute
    direction: str
    """One of DIRECTIONS."""
    center: bool = False
    """Whether the mean feature is subtracted first, which the paper does not do."""
    rank: int | None = None
    """Number of the largest singular values that count; None for all."""

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ConfigurationError(
                f"expected a direction among {', '.join(DIRECTIONS)}, got {self.direction!r}"
            )
        opposite_prompts(self.attribute)
        if self.rank is not None and (not isinstance(self.rank, int) or self.rank < 1):
            raise ConfigurationError(f"rank is a whole number from 1 on, got rank={self.rank!r}")
        observed = FEATURES if self.direction == "text" else ATTRIBUTE_IMAGES
        self.instruments.require(observed, self.attribute, f"wals(direction={self.direction!r})")

    def __repr__(self) -> str:
        return f"<Variety of {self.id}: {counted(len(self.seeds), 'image')}>"

    @cached_property
    def features(self) -> np.ndarray:
        """Features of unit length, [n_images, d]; refused images are left out."""
        return self.features_of(self.prompt, self.seeds)

    @cached_property
    def encoder_fingerprint(self) -> str:
        return self.observations.components.encoder(self.instruments.encoder).fingerprint

    @property
    def checksums(self) -> list[str | None]:
        """Hash of each picture's content; None where the model refused."""
        return [image.sha256 for image in self.observations.images(self.prompt, self.seeds)]

    @property
    def pictures(self) -> str:
        return digest(self.checksums)

    def features_of(self, prompt: Prompt, seeds: Sequence[int]) -> np.ndarray:
        """Return the features of another prompt's images, [n_images, d]."""
        vectors = self.observations.arrays(prompt, seeds, self.encoder_fingerprint)
        there = [_unit_features(vector) for vector in vectors if vector is not None]
        return np.stack(there) if there else np.empty((0, 0))

    @property
    def id(self) -> str:
        """The prompt's id with the attribute and the source of its direction."""
        options = ", centred" * self.center + (f", rank {self.rank}" if self.rank else "")
        return f"{self.prompt.id}-{self.attribute.name} by {self.direction}{options}"

    @cached_property
    def vector(self) -> np.ndarray | None:
        """The direction of the attribute, [d]; None without a direction."""
        if self.direction == "text":
            return _text_direction(*self._texts)
        present, absent = (
            self.features_of(text, self.instruments.seeds(text, len(self.seeds)))
            for text in opposite_prompts(self.attribute)
        )
        return _image_direction(self.direction, present, absent)

    @cached_property
    def interval(self) -> Interval | None:
        """WALS with its interval; None with too few images or without a direction."""
        vector = self.vector
        if self.absent or vector is None:
            return None
        store, name = self.observations.store, FactKind.WALS.of(self._digest)
        record = store.fact(name)
        if record is not None:
            return Interval(**record)
        interval = wals_interval(
            self.features,
            vector,
            level=self.level,
            seed=self.instruments.seed,
            rank=self.rank,
            center=self.center,
        )
        store.remember(name, asdict(interval))
        return interval

    def interval_at(self, level: float) -> Interval | None:
        interval = self.interval
        return interval if interval is None else wals_at_level(interval, level)

    @property
    def wals(self) -> Measurement:
        """The score, from 0 to 1; lower is worse (OASIS eq. 7)."""
        return Measurement(
            metric=INFO["wals"],
            subject=self.id,
            interval=self.interval,
            images=len(self.features),
            evidence=inverted(self._sure_interval_at, "lower") if self.interval else None,
            absent=self.absent,
            remarks=(
                f"along {self.attribute.name!r}, by {self.instruments.encoder}",
                *self._one_sided,
            ),
            change=partial(mean_variety_change, [self]),
        )

    @property
    def _one_sided(self) -> tuple[str, ...]:
        """A remark where too few images show, or lack, the attribute for a reliable interval."""
        present, absent = self._texts
        if self.absent or present is None or absent is None:
            return ()
        count = int(attribute_presence(self.features @ present, self.features @ absent).sum())
        rarer, word = min((count, "show"), (len(self.features) - count, "lack"))
        if rarer >= FEWEST_OF_EACH:
            return ()
        return (
            f"{rarer} of {len(self.features)} images {word} it: below {FEWEST_OF_EACH} the "
            "interval covers the true value less often than its level says",
        )

    @cached_property
    def absent(self) -> str:
        """Why there is no interval; "" where there is one."""
        images, encoder = self.features, self.instruments.encoder
        if len(images) < FEWEST_IMAGES:
            return f"WALS needs {FEWEST_IMAGES} images, there are {len(images)}"
        if _differ_by_rounding_alone(images):
            return f"all {len(images)} images are the same to encoder {encoder!r}: no variety"
        if self.rank is not None and self.rank > min(images.shape):
            return f"rank {self.rank} is more than {len(images)} images have ({min(images.shape)})"
        return "" if self.vector is not None else self._directionless

    @property
    def _directionless(self) -> str:
        name, encoder = self.attribute.name, self.instruments.encoder
        if self.direction != "text":
            return f"images of the descriptions of {name!r} show no difference to {encoder!r}"
        if any(text is None for text in self._texts):
            return f"encoder {encoder!r} has no features of texts"
        return f"the descriptions of {name!r} are the same to encoder {encoder!r}"

    @property
    def descriptions(self) -> str:
        return digest([self.attribute.positive, self.attribute.negative])

    def _sure_interval_at(self, level: float) -> Interval:
        interval = self.interval_at(level)
        if interval is None:
            raise ValueError(f"there is no interval: {self.absent}")
        return interval

    @property
    def _digest(self) -> str:
        vector = [] if self.vector is None else self.vector.tolist()
        how = [self.instruments.seed, self.level, self.center, self.rank]
        return digest([METHOD, self.encoder_fingerprint, self.checksums, vector, *how])

    @cached_property
    def _texts(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Unit features of the descriptions; None where the encoder has no text features."""
        text_features = self.observations.text_features
        present, absent = (
            text_features(self.instruments.encoder, description.text)
            for description in opposite_prompts(self.attribute)
        )
        if present is None or absent is None:
            return None, None
        return _unit_features(present), _unit_features(absent)


def variety_of(
    sample: DetectedPrompt,
    attribute: Attribute,
    direction: str,
    *,
    center: bool = False,
    rank: int | None = None,
) -> Variety:
    return Variety(
        sample.prompt, sample.seeds, sample.observations, sample.observed, sample.level,
        attribute, direction, center, rank,
    )  # fmt: skip


def mean_of(several: Sequence[Variety], level: float) -> Measurement:
    """Return the mean over prompts; intervals are about new images of these prompts."""
    if len(several) == 1:
        return several[0].wals
    intervals = [variety.interval for variety in several]
    measured_intervals = [interval for interval in intervals if interval is not None]

    def interval_at(level: float) -> Interval:
        return mean_wals_interval(measured_intervals, level)

    missing = next((variety.absent for variety in several if variety.interval is None), "")
    change = partial(mean_variety_change, several)
    mean = interval_at(level) if measured_intervals and not missing else None
    return Measurement(
        metric=INFO["wals"],
        subject=f"model along {several[0].id.removeprefix(f'{several[0].prompt.id}-')}",
        is_of_model=True,
        interval=mean,
        images=sum(len(variety.features) for variety in several),
        evidence=inverted(interval_at, "lower") if mean else None,
        absent=missing,
        remarks=(f"mean over {len(several)} prompts, by {several[0].instruments.encoder}",),
        change=change,
    )


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Yield the need for features of images, of descriptions, and of images of descriptions."""
    observe = {FEATURES, ATTRIBUTE_IMAGES}.intersection(test.selection.observe)
    if not observe:
        return
    encoders = frozenset({context.encoder})
    for prompt, attribute in test.selection.subjects:
        seeds = context.seeds(prompt, test.images)
        descriptions = opposite_prompts(attribute)
        texts = frozenset(description.text for description in descriptions)
        yield Need(prompt, seeds, encoders=encoders, texts=texts)
        if ATTRIBUTE_IMAGES in observe:
            for description in descriptions:
                of_images = context.seeds(description, len(seeds))
                yield Need(description, of_images, encoders=encoders)


def varieties(context: AuditContext) -> list[Variety]:
    """Return the variety along every attribute that tests ask for, each once, with most images."""
    widest: dict[tuple[str, str], Variety] = {}
    for variety in _asked(context):
        name = variety.id, variety.descriptions
        candidate = widest.get(name)
        if candidate is None or len(candidate.seeds) < len(variety.seeds):
            widest[name] = variety
    return list(widest.values())


def recorded(context: AuditContext) -> dict[str, Any] | None:
    """Return, by id of the variety, what a baseline keeps; None where nothing was measured."""
    records: dict[str, Any] = {}
    for variety in varieties(context):
        if variety.interval is not None:
            descriptions = variety.descriptions
            name = f"{variety.id}{APART}{descriptions[:8]}" if variety.id in records else variety.id
            records[name] = asdict(
                RecordedVariety(
                    variety.interval, variety.encoder_fingerprint, descriptions, variety.pictures
                )
            )
    return records or None


def _asked(context: AuditContext) -> Iterator[Variety]:
    for test in context.tests:
        observe = test.selection.observe
        directions = ("text",) * (FEATURES in observe)
        directions += ("images", "kernel") * (ATTRIBUTE_IMAGES in observe)
        for prompt, attribute in test.selection.subjects if directions else ():
            seeds = context.observations.distinct([prompt], context.seeds(prompt, test.images))
            for direction, center in product(directions, (False, True)):
                yield Variety(
                    prompt, seeds, context.observations, context.instruments(test),
                    context.settings.interval_level, attribute, direction, center,
                )  # fmt: skip
