"""The image grids of the page: each picture with the labels of all detectors."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pytest_t2i.audits.label_counts import Counts
from pytest_t2i.data import Detection
from pytest_t2i.prompts.added_words import is_rewritten
from pytest_t2i.reporting.charts import UNIT, leanings, prompts_by_axis
from pytest_t2i.reporting.formatting import absent, anchor, counted_beside, signed
from pytest_t2i.reporting.thumbnails import thumbnails
from pytest_t2i.runs.record import ImageRecord, PromptRecord, RunRecord
from pytest_t2i.sections.words import reason_words, said

GENDERS = ("male", "female")
MOST_PICTURES = 3000
"""Largest number of pictures in the grids of a page; with many more, a page has tens of megabytes
and opens slowly."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One image of a grid."""

    seed: int | None
    kind: str
    """Colour class: male, female, other, undetected."""
    word: str
    """Label of the deciding detector, or the reason why there is none."""
    others: tuple[str, ...]
    """Labels of further detectors that disagree, with their names."""
    title: str
    uri: str | None
    """Data URI of the thumbnail; None for a placeholder."""
    link: str | None
    """Link to the full picture, relative to the report."""
    absent: str
    """Text of the placeholder."""
    drawn: str = ""
    """Text that a service drew in place of the prompt; "" if it drew the prompt."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The images of one prompt."""

    anchor: str
    concept: str
    text: str
    score: str
    counts: str
    shares: tuple[tuple[str, float, float], ...]
    """Colour class, left end and width in percent, for a small stacked bar."""
    pictures: tuple[Picture, ...]
    left_out: int
    """Number of the prompt's images that are not shown, to limit the size of the page."""


@dataclass(frozen=True, slots=True)
class Album:
    """The grids of one axis."""

    axis: str
    note: str
    grids: tuple[Grid, ...]


def albums(record: RunRecord, folder: Path) -> list[Album]:
    """Return the image grids by axis, in the order of the charts.

    A large run shows only the first images of each prompt.
    """
    most = pictures_of_each(record)
    small = thumbnails(i.file for p in record.prompts for i in p.images[:most] if i.file)
    return [
        Album(
            axis, leanings(prompts), tuple(_grid(prompt, small, folder, most) for prompt in prompts)
        )
        for axis, prompts in prompts_by_axis(record).items()
    ]


def pictures_of_each(record: RunRecord) -> int:
    """Return the largest number of images per prompt that keeps the page below MOST_PICTURES.

    The number is at least 1. Prompts with fewer images leave room for more images of the others.
    """
    images = [len(prompt.images) for prompt in record.prompts]
    shown = range(1, max(images, default=0) + 1)
    return max(1, bisect_right(shown, MOST_PICTURES, key=lambda k: sum(min(k, n) for n in images)))


def _grid(prompt: PromptRecord, small: Mapping[str, str], folder: Path, most: int) -> Grid:
    score = prompt.prompt_bias_score
    counts = prompt.decided
    return Grid(
        anchor=anchor(prompt.id),
        concept=prompt.name,
        text=prompt.text,
        score=signed(score.estimate) if score else absent(counts.labels),
        counts=counted_beside(prompt),
        shares=tuple(_stacked(counts)),
        pictures=tuple(
            _picture(image, small, folder, prompt.text) for image in prompt.images[:most]
        ),
        left_out=max(0, len(prompt.images) - most),
    )


def _stacked(counts: Counts) -> Iterable[tuple[str, float, float]]:
    """Yield the parts of the stacked bar, female at the left and male at the right as in charts."""
    male, female = (counts.labels.get(label, 0) for label in GENDERS)
    other = sum(counts.labels.values()) - male - female
    parts = {
        "female": female,
        "undetected": sum(counts.undetected.values()),
        "other": other,
        "male": male,
    }
    total, done = sum(parts.values()), 0
    for kind, count in parts.items():
        if count:
            yield kind, *UNIT.span(done / total, (done + count) / total)
            done += count


def _picture(image: ImageRecord, small: Mapping[str, str], folder: Path, prompt: str) -> Picture:
    first = next(iter(image.detections.values()), None)
    drawn = image.revised_prompt
    uri = small.get(image.file) if image.file is not None else None
    return Picture(
        seed=image.seed,
        kind=_kind(first),
        word=reason_words(first.said) if first else "not looked at",
        others=tuple(
            f"{name}: {said(d)}"
            for name, d in list(image.detections.items())[1:]
            if first and d.said != first.said
        ),
        title=_title(image, first),
        uri=uri,
        link=link(image.file, folder) if image.file is not None and uri else None,
        absent="no picture was made" if image.file is None else "file gone or unreadable",
        drawn=drawn if drawn is not None and is_rewritten(prompt, drawn) else "",
    )


def _kind(first: Detection | None) -> str:
    if first is None or first.label not in GENDERS:
        return "undetected" if first and first.undetected else "other"
    return first.label


def _title(image: ImageRecord, first: Detection | None) -> str:
    lines = [f"seed {image.seed}", *(f"{name}: {said(d)}" for name, d in image.detections.items())]
    known = first.scores.items() if first else ()
    scores = ", ".join(f"{label} {score:.3f}" for label, score in sorted(known))
    name = Path(image.file).name if image.file is not None else ""
    return "\n".join([*lines, *filter(None, (scores and f"scores: {scores}", name))])


def link(file: str, folder: Path) -> str:
    """Return the link to a file from a page in ``folder``."""
    try:
        relative = os.path.relpath(Path(file).absolute(), folder.absolute())
    except ValueError:  # Windows: another drive
        return Path(file).absolute().as_uri()
    return quote(os.fsencode(Path(relative).as_posix()))
