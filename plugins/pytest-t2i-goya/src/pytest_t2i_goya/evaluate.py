"""``t2i goya evaluate``: measure the two spaces on pictures, and write a page of neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pytest_t2i import LoadOptions, load_encoder, sections

from pytest_t2i_goya import page
from pytest_t2i_goya.encoder import embedded
from pytest_t2i_goya.evaluation import How, chance, dependence, probe, retrieval
from pytest_t2i_goya.features import Asked, Seen, seen
from pytest_t2i_goya.heads import read_heads
from pytest_t2i_goya.prompts import check_counts
from pytest_t2i_goya.train import say

if TYPE_CHECKING:
    from PIL.Image import Image

PAIRS = (("content", "style"), ("projected-content", "projected-style"))
"""The pairs of spaces that are compared with each other."""
MOST = 2000
"""The largest number of pictures; every pair of them has a distance."""


def evaluate(
    asked: Asked, name: str, how: How, report: Path, *, most: int = MOST, device: str = "auto"
) -> Path:
    """Print the tables and write the page; return the path of the page."""
    heads = read_heads(name)
    below = load_encoder(heads.encoder, LoadOptions(device=device))
    pictures = _some(seen(asked, below, report / "features.npz", say), most, how.seed)
    check_counts(pictures.styles, "style")
    check_counts(pictures.contents, "content")
    spaces = embedded(heads, pictures.features) | {"features": pictures.features}
    tables = [_dependences(spaces, pictures, how), *_labels(spaces, pictures, how)]
    for table in tables:
        _print(table)
    say(f"accuracy of always guessing the most common style: {chance(pictures.styles):.3f}")
    shown = {space: spaces[space] for space in PAIRS[0]}
    queries = page.queries(len(pictures), how.seed)
    k = min(how.neighbours, len(pictures) - 1)
    wanted = _images(asked, pictures, page.found(shown, queries, k))
    written = page.write(report, tables, shown, pictures.prompts, wanted, queries, k)
    say(f"page: {written}")
    return written


def _some(pictures: Seen, most: int, seed: int) -> Seen:
    """Return all pictures, or those of randomly drawn contents until there are ``most``."""
    if len(pictures) <= most:
        return pictures
    order = np.random.default_rng(seed).permutation(sorted(set(pictures.contents))).tolist()
    taken: set[str] = set()
    for content in order:
        if sum(one in taken for one in pictures.contents) >= most:
            break
        taken.add(content)
    places = [k for k, content in enumerate(pictures.contents) if content in taken]
    say(f"{len(places)} of {len(pictures)} pictures are compared (--most)")
    return Seen(
        [pictures.prompts[k] for k in places], [pictures.seeds[k] for k in places],
        pictures.features[places],
    )  # fmt: skip


def _images(asked: Asked, pictures: Seen, places: set[int]) -> dict[int, Image]:
    wanted = {(pictures.prompts[k].text, pictures.seeds[k]): k for k in places}
    return {
        wanted[one.prompt, one.seed]: one.image
        for _, one in asked.pictures()
        if (one.prompt, one.seed) in wanted and one.image is not None
    }


def _dependences(spaces: dict[str, np.ndarray], pictures: Seen, how: How) -> sections.Table:
    rows = []
    for content, style in PAIRS:
        found = dependence((spaces[content], spaces[style]), pictures.contents, how)
        rows.append((f"{content} and {style}", *found))
    columns = ("spaces", "distance correlation", "U-centred, squared", "p")
    return sections.Table("How far content and style depend on each other", columns, tuple(rows))


def _labels(spaces: dict[str, np.ndarray], pictures: Seen, how: How) -> Iterator[sections.Table]:
    kinds = {"content": pictures.contents, "style": pictures.styles}
    columns = ("space", f"P@{how.neighbours}", "mAP", "linear probe")
    for kind, labels in kinds.items():
        rows = tuple(
            (
                name,
                *retrieval(rows, labels, pictures.contents, how),
                probe(rows, labels, pictures.contents, how),
            )
            for name, rows in spaces.items()
        )
        yield sections.Table(f"Whether each space knows the {kind}", columns, rows)


def _print(table: sections.Table) -> None:
    say(f"\n{table.caption}")
    cells = [
        list(table.columns),
        *(
            [(f"{cell:.3f}" if isinstance(cell, float) else str(cell)) for cell in row]
            for row in table.rows
        ),
    ]
    widths = [max(len(row[k]) for row in cells) for k in range(len(table.columns))]
    for row in cells:
        say(
            "  "
            + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        )
