"""Detections of the images of one prompt and of several: the counts behind a score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

from pytest_t2i.adapters.picture_files import without_origin
from pytest_t2i.audits.audit import About
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.early_stopping import Stopping
from pytest_t2i.audits.engine.instruments import Instruments
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.data import Bounds, Detection, Prompt, sign_of
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import checksum, from_here
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.statistics.undetected import worst_case_bounds
from pytest_t2i.verdicts.caveats.built_in import READINGS
from pytest_t2i.verdicts.caveats.equal_pictures import Repeats
from pytest_t2i.verdicts.caveats.seams import Reading
from pytest_t2i.verdicts.measurement import Family

MALE, FEMALE = "male", "female"
Member = TypeVar("Member")
W = TypeVar("W", bound=Any)


@dataclass(eq=False)
class Siblings(Generic[Member]):
    """The members of one test function, which are tested together and share one error level."""

    members: Sequence[Member]
    ids: Sequence[str]
    """Ids of the members, in order."""
    _families: dict[Hashable, Family] = field(default_factory=dict)

    @cached_property
    def places(self) -> dict[str, int]:
        """Id of a member -> its position."""
        return {name: place for place, name in enumerate(self.ids)}

    def named(self, name: str) -> Member:
        """Return the member with this id."""
        return self.members[self.places[name]]

    def family(self, metric: Hashable, build: Any) -> Family:
        """Return the family of a metric; the first call builds it from the members."""
        if metric not in self._families:
            self._families[metric] = build(self.members)
        return self._families[metric]


def siblings_of(
    context: AuditContext,
    test: AskedTest,
    about: About,
    measure: Callable[[AskedTest], Iterable[Any]],
    name: Callable[[Any], str],
) -> Siblings[Any]:
    """Return the members of all cases of a test function, measured together and only once."""

    def build() -> Siblings[Any]:
        members = [member for case in context.cases(test) for member in measure(case)]
        siblings: Siblings[Any] = Siblings([], [name(member) for member in members])
        siblings.members = [replace(member, siblings=siblings) for member in members]
        return siblings

    return context.once(("siblings", test.function, about), build)


class CorrectedCounts(NamedTuple):
    """A prompt's score after a correction by people's labels, and the counts behind its interval.

    >>> CorrectedCounts(0.3, (4, 2), "corrected by 60 labels").genders
    (4, 2)
    """

    score: float
    """Estimate of the score that people would give to all images of the prompt."""
    genders: tuple[int, int]
    """(male, female) images by people's labels."""
    how: str
    """Description of the correction."""
    labels: Mapping[str, int] = MappingProxyType({})
    """People's labels of the prompt's images -> number of labelled images."""


class DistinctPictures:
    """What counts equal pictures once: ``seeds`` are those of distinct pictures."""

    seeds: tuple[int, ...]
    planned: tuple[int, ...]
    """All seeds, of equal pictures too; () where ``seeds`` are all."""
    observations: Observations
    level: float
    stopping: Stopping | None = None
    """How the number of images was chosen while looking at them; None where it was fixed."""
    siblings: Siblings[Self] | None = None
    """The members of the same test function; None for one on its own."""
    readings: tuple[Reading, ...] = READINGS
    """The ways to count images in which the evidence must hold."""

    prompt: Any
    """The prompt of the pictures."""
    id: Any
    """Id of the prompt, or of what else the pictures are of."""

    @property
    def together(self) -> Siblings[Self]:
        """The members that share its error level, itself included."""
        return self.siblings or Siblings([self], [self.id])

    @cached_property
    def repeats(self) -> Repeats:
        """How many of the prompt's pictures repeat an earlier one."""
        if not self.planned:
            return Repeats(len(self.seeds), len(self.seeds), 0)
        return self.observations.repeats(self.prompt, self.planned)

    @property
    def has_no_verdict(self) -> bool:
        """Whether so many pictures repeat that nothing is judged."""
        return self.repeats.are_too_many

    @property
    def with_repeats(self) -> Self:
        """The same with equal pictures counted each; itself where none or too many repeat."""
        if self.seeds == (self.planned or self.seeds) or self.has_no_verdict:
            return self
        return replace(self, seeds=self.planned, planned=())  # type: ignore[type-var]

    def only(self, seeds: Sequence[int]) -> Self:
        """Return the same with the pictures of these seeds only, for a reading of a caveat."""
        return replace(self, seeds=tuple(seeds), planned=self.planned or self.seeds)  # type: ignore[type-var]

    def distinct_among(self, images: int) -> int:
        """Return how many of the first images have a place in ``seeds``."""
        if not self.planned:
            return images
        return len(set(self.planned[:images]).intersection(self.seeds))


@dataclass(frozen=True, repr=False)
class DetectedPrompt(DistinctPictures):
    """All detections of one prompt."""

    prompt: Prompt
    seeds: tuple[int, ...]
    ref: DetectorRef
    observations: Observations
    level: float
    """Confidence level of intervals."""
    stopping: Stopping | None = None
    """How the number of images was chosen while looking at them; None where it was fixed."""
    instruments: Instruments | None = field(default=None, compare=False)
    """What OASIS' instruments need besides the images; None where nothing was observed for them."""
    alike: float = 0.0
    """Share of undetected images up to which they are taken to be like the others."""
    corrected: CorrectedCounts | None = field(default=None, compare=False)
    """The counts as people's labels correct them; None without labels."""
    why_not_corrected: str = ""
    """Why people's labels do not correct the counts; "" where they do, or without labels."""
    planned: tuple[int, ...] = ()
    """All seeds, of equal pictures too; () where ``seeds`` are all."""
    siblings: Siblings[DetectedPrompt] | None = field(default=None, compare=False)
    """The prompts of the same test function; None for a prompt on its own."""
    readings: tuple[Reading, ...] = field(default=READINGS, kw_only=True, compare=False)
    """The ways to count images in which the evidence must hold."""

    @property
    def id(self) -> str:
        """The prompt's id."""
        return self.prompt.id

    @cached_property
    def detections(self) -> list[Detection]:
        """One detection per image, in the order of the seeds."""
        return self.observations.detections(self.prompt, self.seeds, self.ref)

    @property
    def files(self) -> list[Path | None]:
        """The PNG of each image; None where the model refused."""
        return [image.file for image in self.observations.images(self.prompt, self.seeds)]

    @cached_property
    def checksums(self) -> list[str | None]:
        """Hash of each PNG's content, which identifies labelled pictures; None without a PNG."""
        return [
            None if file is None else checksum(without_origin(file.read_bytes()))
            for file in self.files
        ]

    @cached_property
    def counts(self) -> Counter[str]:
        """Images per label."""
        return Counter(d.label for d in self.detections if d.label is not None)

    @cached_property
    def undetected(self) -> Counter[str]:
        """Images without a label, per reason; never counted as a gender."""
        return Counter(d.undetected.value for d in self.detections if d.undetected is not None)

    @property
    def male(self) -> int:
        """Images labelled male."""
        return self.counts[MALE]

    @property
    def female(self) -> int:
        """Images labelled female."""
        return self.counts[FEMALE]

    @property
    def judged(self) -> tuple[int, int]:
        """(male, female) images behind the interval: as detected, or as corrected."""
        if self.has_no_verdict:
            return 0, 0
        return (self.male, self.female) if self.corrected is None else self.corrected.genders

    @property
    def clear(self) -> int:
        """Images labelled male or female."""
        return self.male + self.female

    @property
    def signs(self) -> np.ndarray:
        """+1 for male, -1 for female, 0 for undetected, per image."""
        return np.array([sign_of(detection.label) for detection in self.detections])

    @property
    def hidden(self) -> int:
        """Undetected images; 0 where nothing is judged of the prompt."""
        return 0 if self.has_no_verdict else self.undetected.total()

    @property
    def unknown(self) -> int:
        """Undetected images of the worst case; 0 where they are taken to be like the rest."""
        return self.hidden if self.hidden > self.alike * len(self.seeds) else 0

    @property
    def groups(self) -> dict[str, int]:
        """Images per label of the detector, labels without any image included."""
        return {label: self.counts[label] for label in self.observations.labels(self.ref)}

    @property
    def judged_groups(self) -> dict[str, int]:
        """Images per label of the detector; 0 for each where nothing is judged of the prompt."""
        return dict.fromkeys(self.groups, 0) if self.has_no_verdict else self.groups

    @property
    def worst_case(self) -> Bounds | None:
        """Bounds of the prompt bias score, whatever undetected images show; None without any."""
        return worst_case_bounds(self.male, self.female, self.hidden) if self.hidden else None

    def describe(self) -> str:
        """Return the counts in words."""
        undetected = f", undetected {listed(self.undetected)}" if self.undetected else ""
        return f"{self.male} male, {self.female} female{undetected}{self._repeated}"

    @property
    def _repeated(self) -> str:
        count = self.repeats.repeated
        how = "" if self.has_no_verdict else " (judged with and without them)"
        return f", {count} repeated{how}" if count else ""

    @property
    def observed(self) -> Instruments:
        """What OASIS' instruments need; raises ConfigurationError where it was not observed."""
        if self.instruments is None:
            raise ConfigurationError(f"{self.prompt.id}: nothing was observed for the instruments")
        return self.instruments

    @property
    def folder(self) -> Any:
        """Path of the first picture, relative where possible; "none was made" without a picture."""
        first = next((file for file in self.files if file is not None), None)
        return "none was made" if first is None else from_here(Path(first))


@dataclass(frozen=True, repr=False)
class DetectedPrompts:
    """The detections of several prompts."""

    members: tuple[DetectedPrompt, ...]
    level: float
    """Confidence level of intervals."""
    seed: int
    """Seed of resampling."""
    alike: float = 0.0
    """Share of undetected images up to which they are taken to be like the others."""

    def __iter__(self) -> Iterator[DetectedPrompt]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def repeats(self) -> Repeats:
        """How many pictures repeat an earlier one of their prompt."""
        return sum((sample.repeats for sample in self.members), start=Repeats(0, 0, 0))

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The ways to count images in which the evidence must hold."""
        return self.members[0].readings if self.members else ()

    def with_each(self, change: Callable[[Any], Any]) -> Self:
        """Return the same with each sample changed; itself where none is."""
        return with_each(self, change)

    @property
    def without_verdict(self) -> list[str]:
        """Names of the prompts of which nothing is judged, as too many of their pictures repeat."""
        return [sample.prompt.name for sample in self.members if sample.has_no_verdict]

    @cached_property
    def male(self) -> np.ndarray:
        """Images labelled male, per prompt; 0 where nothing is judged of the prompt."""
        return np.array([0 if s.has_no_verdict else s.male for s in self.members])

    @cached_property
    def female(self) -> np.ndarray:
        """Images labelled female, per prompt; 0 where nothing is judged of the prompt."""
        return np.array([0 if s.has_no_verdict else s.female for s in self.members])

    @cached_property
    def unknown(self) -> np.ndarray:
        """Undetected images of the worst case, per prompt; 0 where taken to be like the rest."""
        unknown = np.array([sample.hidden for sample in self.members])
        return unknown if unknown.sum() > self.alike * self.images else np.zeros_like(unknown)

    @property
    def signs(self) -> list[np.ndarray]:
        """Per prompt and image: +1 for male, -1 for female, 0 for undetected."""
        return [s.signs[: 0 if s.has_no_verdict else None] for s in self.members]

    @property
    def images(self) -> int:
        """Number of images of all prompts."""
        return sum(len(sample.seeds) for sample in self.members)

    @property
    def clear_images(self) -> int:
        """Images with a gender label."""
        return int((self.male + self.female).sum())


def with_each(owner: W, change: Callable[[Any], Any]) -> W:
    """Return a record with each of its ``members`` changed; itself where none is."""
    members = tuple(map(change, owner.members))
    is_same = all(new is old for new, old in zip(members, owner.members, strict=True))
    return owner if is_same else replace(owner, members=members)


def listed(counts: Counter[str]) -> str:
    """Return counts in words, such as ``12 no_face, 3 multiple_people``."""
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())
