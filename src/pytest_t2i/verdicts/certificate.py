"""The certificate of a detector: its errors by group on images that people labelled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from pytest_t2i.data import Count, Number, Undetected
from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import write_whole
from pytest_t2i.read_files import convert, read_json

if TYPE_CHECKING:
    from pytest_t2i.statistics.detector_errors import ErrorRates

SCHEMA: Final = "pytest-t2i/certificate/1"
REMEDY = "Write one with: t2i detector check NAME --labels FOLDER --certificate FILE"
MALE, FEMALE = "male", "female"


ABSTENTIONS = (Undetected.UNSPECIFIED, Undetected.JUDGE_REFUSED, Undetected.LOW_CONFIDENCE)
"""Reasons of a judge that gives no label; others say what the picture shows."""


def abstentions(said: Iterable[str | Undetected]) -> tuple[int, int]:
    """Return (abstentions, abstentions and labels) among what a judge said of images.

    >>> abstentions(["male", Undetected.UNSPECIFIED, Undetected.NO_PERSON])
    (1, 2)
    """
    words = list(said)
    abstained = sum(word in ABSTENTIONS for word in words)
    return abstained, abstained + sum(not isinstance(word, Undetected) for word in words)


@dataclass(frozen=True, slots=True)
class GroupErrors:
    """A detector's labels for the images of one group.

    >>> GroupErrors({"male": {"male": 61, "female": 11}, "female": {}}, {}).wrong("male")
    (11, 72)
    """

    confusion: Mapping[str, Mapping[str, Count]]
    """People's label -> the detector's label -> images."""
    abstention: Mapping[str, Count] = field(default_factory=dict)
    """People's label -> images that the detector gives no label."""

    @property
    def right(self) -> tuple[int, int]:
        """Return (images labelled rightly, images with a label) of all labels together."""
        counts = [self.wrong(label) for label in self.confusion]
        labelled = sum(total for _, total in counts)
        return labelled - sum(wrong for wrong, _ in counts), labelled

    def wrong(self, label: str) -> tuple[int, int]:
        """Return (images labelled otherwise, images with a label) among those of people's label."""
        said = self.confusion.get(label, {})
        return sum(said.values()) - said.get(label, 0), sum(said.values())


@dataclass(frozen=True, slots=True)
class Split:
    """The groups of one attribute, or of several that are crossed."""

    attributes: tuple[str, ...]
    """Columns of the label table; () for all images together."""
    groups: Mapping[str, GroupErrors]
    edges: tuple[Number, ...] = ()
    """First values of the bands of a number, such as an age; () where the values are groups."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of a detector's errors.

    The certificate holds for the version of the detector whose fingerprint it names.
    """

    detector: str
    fingerprint: str
    labels: str
    """Digest of the labelled images with their labels."""
    images: Count
    """Number of labelled images of a clear label."""
    date: str
    """Day of the check, ISO 8601."""
    splits: tuple[Split, ...]
    """All images together first, then each attribute, then all attributes crossed."""
    rubric: str | None = None
    """Digest of the rubric of a judge that reads one; null for other detectors."""
    version: str | None = None
    """Version that a judge behind an endpoint reported; null for other detectors."""
    abstained: Count | None = None
    """Number of images, clear or not, of which a judge gave no label although it was asked for one
    (ABSTENTIONS); null for other detectors."""
    asked: Count | None = None
    """Number of images of which it gave a label or abstained."""
    schema: Literal["pytest-t2i/certificate/1"] = SCHEMA

    @property
    def knows_genders(self) -> bool:
        """Whether the labels are male and female, whose errors move bias scores."""
        everything = self.splits[0].groups.values()
        return {MALE, FEMALE} == {label for group in everything for label in group.confusion}

    @property
    def right_by_group(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Attribute -> group -> (images labelled rightly, images with a label), not crossed."""
        return {
            split.attributes[0]: {name: group.right for name, group in split.groups.items()}
            for split in self.splits
            if len(split.attributes) == 1
        }

    def to_json(self) -> str:
        return json.dumps(msgspec.to_builtins(self), indent=1, ensure_ascii=False) + "\n"


def write_certificate(certificate: Certificate, file: Path) -> None:
    """Write a certificate; raises StoreError where the file cannot be written."""
    write_whole(file, certificate.to_json().encode())


def read_certificate(file: Path) -> Certificate:
    """Read a certificate; raises FileFormatError for anything else."""
    plain = read_json(file, SCHEMA, kind="certificate of a detector", remedy=REMEDY)
    certificate = convert(file, plain, Certificate, remedy=REMEDY)
    if not certificate.splits or certificate.splits[0].attributes:
        raise FileFormatError(
            file, "expected all images together as the first of its splits.", remedy=REMEDY
        )
    for split in certificate.splits:
        if not split.groups or list(split.edges) != sorted(set(split.edges)):
            raise FileFormatError(
                file,
                f"expected groups and ascending edges of {', '.join(split.attributes) or 'all'}.",
                remedy=REMEDY,
            )
    return certificate


def error_rates(
    split: Split, level: float, weights: Sequence[Mapping[str, float]] = ()
) -> ErrorRates:
    """Return the range of both error rates in pictures of these groups.

    Without weights the pictures may be of any group of the split. The exact intervals of all
    groups and both rates hold together, by Bonferroni's inequality.

    ``weights`` are shares of the groups among pictures; the range covers each of these mixtures.
    """
    # Collecting a suite reads this module, and loads no SciPy.
    from pytest_t2i.statistics.detector_errors import ErrorRates, mixed, rate_ranges

    cells = 2 * len(split.groups)
    ends = {
        label: mixed(
            rate_ranges(
                {name: group.wrong(label) for name, group in split.groups.items()}, level, cells
            ),
            weights,
        )
        for label in (MALE, FEMALE)
    }
    return ErrorRates(ends[MALE], ends[FEMALE])


CertifiedErrors = tuple["ErrorRates", str]
"""The errors that a certificate allows in the pictures of one measurement, and where they are taken
from, in words."""
