"""The page of ``t2i goya evaluate``: the tables, and nearest pictures by content and by style."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pytest_t2i import sections, write_page

from pytest_t2i_goya.prompts import Described

if TYPE_CHECKING:
    from PIL.Image import Image

QUERIES = 8
"""The number of pictures whose neighbours are shown."""
FOLDER = "pictures"
IN_KIND = (
    "The spaces are those of the heads; pictures are compared by cosine. Compare figures only "
    "between equal numbers of the same pictures."
)


def queries(count: int, seed: int) -> list[int]:
    """Return the pictures whose neighbours are shown."""
    return sorted(random.Random(seed).sample(range(count), min(QUERIES, count)))  # noqa: S311


def nearest(space: np.ndarray, query: int, k: int) -> list[int]:
    """Return the k pictures nearest to a query by cosine, the nearest first, without the query.

    >>> nearest(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), 0, 2)
    [2, 1]
    """
    unit = space / np.maximum(np.linalg.norm(space, axis=1, keepdims=True), 1e-30)
    order = np.argsort(-(unit @ unit[query]), kind="stable").tolist()
    return [int(place) for place in order if place != query][:k]


def found(spaces: Mapping[str, np.ndarray], asked: Sequence[int], k: int) -> set[int]:
    """Return all pictures that the page shows."""
    near = {place for space in spaces.values() for q in asked for place in nearest(space, q, k)}
    return {*asked, *near}


def write(
    folder: Path,
    tables: Sequence[sections.Table],
    spaces: Mapping[str, np.ndarray],
    prompts: Sequence[Described],
    shown: Mapping[int, Image],
    asked: Sequence[int],
    k: int,
) -> Path:
    """Write the page and its pictures; return the path of the page."""
    files = {place: _kept(folder, place, image) for place, image in shown.items()}

    def picture(place: int, word: str) -> sections.Picture:
        one = prompts[place]
        return sections.Picture(files[place], word, (one.style, one.content))

    albums = [
        sections.Album(
            f"{prompts[query].content}, {prompts[query].style}: nearest by {name}",
            (picture(query, "query"), *(picture(p, str(n)) for n, p in enumerate(near, 1))),
            level="body",
        )
        for query in asked
        for name, near in ((name, nearest(rows, query, k)) for name, rows in spaces.items())
    ]
    made = [
        sections.Section("Evaluation of the spaces", (sections.Note(IN_KIND), *tables)),
        sections.Section("Nearest pictures", tuple(albums)),
    ]
    lead = f"{len(prompts)} pictures of {len({one.content for one in prompts})} contents."
    return write_page(folder, "Content and style", made, kicker="GOYA", lead=lead)


def _kept(folder: Path, place: int, image: Image) -> str:
    file = folder / FOLDER / f"{place:06}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    image.save(file)
    return str(file)
