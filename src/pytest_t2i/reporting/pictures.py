"""The pictures of a report: which are shown, their thumbnails, and what is drawn over them."""

from __future__ import annotations

import base64
import io
import os
import stat
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
from PIL import Image, ImageFilter

from pytest_t2i.adapters.detectors.rubrics import JUDGE
from pytest_t2i.adapters.picture_files import picture_in
from pytest_t2i.audits.engine.counts import Counts
from pytest_t2i.data import Detection, Mask
from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, stamp, write_whole
from pytest_t2i.generation.store.thumbnails import (
    IndexedPicture,
    ThumbnailRow,
    add_thumbnails,
    origins,
    store_of,
    thumbnail_file,
    thumbnail_rows,
)
from pytest_t2i.prompts.added_words import is_rewritten
from pytest_t2i.reporting.charts import UNIT, leanings, prompts_by_axis
from pytest_t2i.reporting.formatting import absent, anchor, counted_beside, signed
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.record import PromptRecord, RunRecord
from pytest_t2i.sections import Overlay
from pytest_t2i.sections.words import reason_words, said

SIDE = 88
"""Longer side in pixels; the page shows 84 pixels."""
QUALITIES = (60, 40, 20, 5)
"""Qualities of WebP; the first that is small enough is used. With the first alone 2,000 portraits
and their page stay below 6 MB (tests/benchmarks/report_size.py)."""

LARGEST = 1700
"""Largest size of a thumbnail in bytes; 2,000 pictures of noise keep the page below 6 MB, too."""


class Thumbnail(NamedTuple):
    """A small picture with the hash of the picture that it shows."""

    content: bytes
    picture: str


def thumbnails(files: Iterable[str]) -> dict[str, str]:
    """Return a data URI per image file; an absent or unreadable file has none."""
    paths = list(dict.fromkeys(files))
    stores = _by_store(paths)
    contents: dict[str, bytes] = {}
    for folder, stored in stores.items():
        contents |= _cached(folder, stored)
    missing = [file for file in paths if file not in contents]
    # Pillow decodes outside of the interpreter's lock, so that threads work in parallel.
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        new_thumbnails = dict(zip(missing, pool.map(_make, map(Path, missing)), strict=True))
    for folder, stored in stores.items():
        _keep(
            folder,
            {file: small for file in stored if (small := new_thumbnails.get(file)) is not None},
        )
    contents |= {file: small.content for file, small in new_thumbnails.items() if small is not None}
    return {file: _data_uri(contents[file]) for file in paths if file in contents}


def _by_store(files: Iterable[str]) -> dict[Path, list[str]]:
    """Return the files that lie in stores, by the folder of the store."""
    stores: dict[Path, list[str]] = {}
    for file in files:
        if (folder := store_of(Path(file))) is not None:
            stores.setdefault(folder, []).append(file)
    return stores


def _cached(folder: Path, files: Sequence[str]) -> dict[str, bytes]:
    """Return the kept thumbnails that are those of their pictures."""
    keys = {file: Path(file).stem for file in files}
    rows = thumbnail_rows(folder, list(keys.values()))
    origin_by_key = origins(folder, list(rows))
    contents = {}
    for file, key in keys.items():
        row = rows.get(key)
        if row is None or row.picture != _hash_of(file, origin_by_key.get(key)):
            continue
        content = _content(thumbnail_file(folder, key))
        if content is not None and checksum(content) == row.sha256:
            contents[file] = content
    return contents


def _hash_of(file: str, origin: IndexedPicture | None) -> str | None:
    """Return the SHA-256 of a picture; it is read only if it was touched since it was stored."""
    now = stamp(file)
    if now is None:
        return None
    if origin is not None and origin.stamp == now:
        return origin.sha256
    content = _content(Path(file))
    return None if content is None else checksum(content)


def _content(file: Path) -> bytes | None:
    """Return the content of a regular file; reading from a pipe or a device would wait."""
    try:
        return file.read_bytes() if stat.S_ISREG(file.stat().st_mode) else None
    except (OSError, ValueError):
        return None


def _keep(folder: Path, new_thumbnails: Mapping[str, Thumbnail]) -> None:
    """Write thumbnails into their store, then their rows.

    Where the store cannot be written, as on a read-only disk, the next report is only slower.
    """
    rows = []
    for file, small in new_thumbnails.items():
        key = Path(file).stem
        try:
            write_whole(thumbnail_file(folder, key), small.content)
        except StoreError:
            return
        rows.append(ThumbnailRow(key, small.picture, checksum(small.content)))
    if rows:
        add_thumbnails(folder, rows)


def _make(file: Path) -> Thumbnail | None:
    picture = _content(file)
    small = None if picture is None else _shrunk(picture)
    return None if picture is None or small is None else Thumbnail(small, checksum(picture))


def _shrunk(picture: bytes) -> bytes | None:
    from PIL import Image

    small = picture_in(picture)
    if small is None:
        return None
    small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
    for quality in QUALITIES:
        content = io.BytesIO()
        small.save(content, "WEBP", quality=quality, method=6)
        if content.tell() <= LARGEST:
            break
    return content.getvalue()


def _data_uri(content: bytes) -> str:
    """Return a WebP picture as a data URI."""
    return f"data:image/webp;base64,{base64.b64encode(content).decode()}"


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
    evidence: tuple[str, ...] = ()
    """What each judge says it sees; no verdict rests on it."""


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
class PictureAlbum:
    """The grids of one axis."""

    axis: str
    note: str
    prompts: int
    """Number of the axis' prompts; some may have no grid."""
    grids: tuple[Grid, ...]


def albums(record: RunRecord, folder: Path, shown: Collection[str]) -> list[PictureAlbum]:
    """Return the image grids of prompts, by id, by axis in the order of the charts."""
    with_grid = [prompt for prompt in record.prompts if prompt.id in shown]
    most = pictures_of_each(with_grid)
    small = thumbnails(i.file for p in with_grid for i in p.images[:most] if i.file)
    found = [
        PictureAlbum(
            axis,
            leanings(prompts),
            len(prompts),
            tuple(_grid(p, small, folder, most) for p in prompts if p.id in shown),
        )
        for axis, prompts in prompts_by_axis(record).items()
    ]
    return [album for album in found if album.grids]


def pictures_of_each(prompts: Iterable[PromptRecord]) -> int:
    """Return the largest number of images per prompt that keeps the page below MOST_PICTURES."""
    images = [len(prompt.images) for prompt in prompts]
    numbers = range(1, max(images, default=0) + 1)
    return max(
        1, bisect_right(numbers, MOST_PICTURES, key=lambda k: sum(min(k, n) for n in images))
    )


def _grid(prompt: PromptRecord, small: Mapping[str, str], folder: Path, most: int) -> Grid:
    score = prompt.score
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
    rest = sum(counts.labels.values()) - male - female
    parts = {
        "female": female,
        "undetected": sum(counts.undetected.values()),
        "other": rest,
        "male": male,
    }
    total, offset = sum(parts.values()), 0
    for kind, count in parts.items():
        if count:
            yield kind, *UNIT.span(offset / total, (offset + count) / total)
            offset += count


def _picture(image: ImageRecord, small: Mapping[str, str], folder: Path, prompt: str) -> Picture:
    first = next(iter(image.detections.values()), None)
    revised_prompt = image.revised_prompt
    uri = small.get(image.file) if image.file is not None else None
    return Picture(
        seed=image.seed,
        kind=_kind(first),
        word=reason_words(first.said) if first else "not examined",
        others=tuple(
            f"{name}: {said(d)}"
            for name, d in list(image.detections.items())[1:]
            if first and d.said != first.said
        ),
        title=_title(image, first),
        uri=uri,
        link=link(image.file, folder) if image.file is not None and uri else None,
        absent="no picture was made" if image.file is None else "file gone or unreadable",
        drawn=revised_prompt
        if revised_prompt is not None and is_rewritten(prompt, revised_prompt)
        else "",
        evidence=tuple(
            f"{name.partition('+')[2].partition('+')[0] or name}: {d.detail}"
            for name, d in image.detections.items()
            if name.startswith(JUDGE) and d.detail
        ),
    )


def _kind(first: Detection | None) -> str:
    if first is None or first.label not in GENDERS:
        return "undetected" if first and first.undetected else "other"
    return first.label


def _title(image: ImageRecord, first: Detection | None) -> str:
    lines = [f"seed {image.seed}", *(f"{name}: {said(d)}" for name, d in image.detections.items())]
    label_scores = first.scores.items() if first else ()
    scores = ", ".join(f"{label} {score:.3f}" for label, score in sorted(label_scores))
    name = Path(image.file).name if image.file is not None else ""
    return "\n".join([*lines, *filter(None, (scores and f"scores: {scores}", name))])


def link(file: str, folder: Path) -> str:
    """Return the link to a file from a page in ``folder``."""
    try:
        relative = os.path.relpath(Path(file).absolute(), folder.absolute())
    except ValueError:  # Windows: another drive
        return Path(file).absolute().as_uri()
    return quote(os.fsencode(Path(relative).as_posix()))


OVERLAY_SIDE = 240
"""Longest side in pixels."""
QUALITY = 80
DIMMED = 0.65
"""Share by which a picture is darkened outside of the attention."""
OUTLINE, INNER = (255, 255, 255), (20, 20, 20)


def overlay(shown: Overlay) -> str | None:
    """Return the data URI of a picture, dark without attention and with its region outlined."""
    picture = picture_in(Path(shown.file)) if shown.file else None
    if picture is None:
        return None
    picture = _laid_over(picture, shown.attention, shown.region)
    content = io.BytesIO()
    picture.save(content, "WEBP", quality=QUALITY, method=6)
    return _data_uri(content.getvalue())


def _laid_over(picture: Image.Image, attention: Mask, region: Mask) -> Image.Image:
    picture.thumbnail((OVERLAY_SIDE, OVERLAY_SIDE), Image.Resampling.LANCZOS)
    elsewhere = _scaled(~attention.pixels(), picture.size)
    picture.paste((0, 0, 0), mask=elsewhere.point(lambda value: round(value * DIMMED)))
    return outlined(picture, region)


def outlined(picture: Image.Image, region: Mask) -> Image.Image:
    """Draw a dark and a light line around a region into the picture, and return it."""
    inside = _scaled(region.pixels(), picture.size).point(lambda value: 255 * (value > 127))  # noqa: PLR2004 - half
    for colour, width in ((OUTLINE, 5), (INNER, 3)):
        grown = inside.filter(ImageFilter.MaxFilter(width))
        edge = Image.fromarray(np.asarray(grown) & ~np.asarray(inside))
        picture.paste(colour, mask=edge)
    return picture


def _scaled(pixels: np.ndarray, size: tuple[int, int]) -> Image.Image:
    return Image.fromarray(pixels.astype(np.uint8) * 255).resize(size, Image.Resampling.BILINEAR)
