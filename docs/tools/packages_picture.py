"""The picture of the packages, drawn from the imports: which of them uses which."""

from __future__ import annotations

import sys
from html import escape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[2]
PICTURE = REPOSITORY / "docs" / "images" / "packages.svg"

COLUMNS = {
    "plugin": (0.5, "hooks, options, marker, fixtures of pytest"),
    "cli": (2.0, "the commands of t2i"),
    "library": (1.0, "audits from scripts and notebooks"),
    "reporting": (1.0, "renders a record: terminal, HTML, Markdown"),
    "runs": (0.5, "one run: what was asked, its state, its record"),
    "audits": (1.0, "one package per question: parity, ..."),
    "verdicts": (0.0, "a limit meets a measurement: PASS, FAIL, ..."),
    "sections": (2.0, "what a report is made of, as data"),
    "generation": (2.0, "images made and looked at; the store"),
    "statistics": (0.0, "counts in, intervals and p-values out"),
    "labels": (2.0, "people's labels; the labelling page"),
    "metrics": (0.0, "pure functions: the papers' equations"),
    "prompts": (1.0, "axes, templates, triplets, references"),
    "adapters": (2.0, "models, detectors, encoders, finders by name"),
    "ground": (1.0, "data, errors, files, reading, protocols, settings"),
}
"""Subpackage -> its column, and what lies in it. Rows and arrows come from the imports."""

BOX_WIDTH, BOX_HEIGHT = 290, 52
COLUMN, ROW, EDGE = 320, 92, 20
STYLE = """
  .subpackage { fill: #ffffff; stroke: #3f51b5; stroke-width: 1.5 }
  .name { font: 600 15px sans-serif; fill: #1a237e; text-anchor: middle }
  .words { font: 12px sans-serif; fill: #333333; text-anchor: middle }
  .arrow { stroke: #5c6bc0; stroke-width: 1.4; fill: none }
""".strip("\n")

Graph = dict[str, set[str]]
"""Subpackage -> subpackages that it uses."""


class Place(NamedTuple):
    """Where a subpackage's box stands: its upper left corner."""

    x: float
    y: float

    @property
    def middle(self) -> float:
        """Half-way between left and right."""
        return self.x + BOX_WIDTH / 2


def draw() -> str:
    """The picture as SVG; the same imports give the same text."""
    graph = room_graph()
    rows = {subpackage: row_of(subpackage, graph) for subpackage in graph}
    top = max(rows.values())
    places = {
        subpackage: Place(EDGE + COLUMNS[subpackage][0] * COLUMN, EDGE + (top - row) * ROW)
        for subpackage, row in rows.items()
    }
    width, height = 2 * EDGE + 2 * COLUMN + BOX_WIDTH, 2 * EDGE + top * ROW + BOX_HEIGHT
    arrows = [_arrow(places[subpackage], places[used]) for subpackage, used in shown_arrows(graph)]
    boxes = [_box(subpackage, place) for subpackage, place in places.items()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            'aria-labelledby="title">',
            f'<title id="title">{escape(in_words(graph))}</title>',
            f"<style>\n{STYLE}\n</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#5c6bc0"/></marker>'
            "</defs>",
            f'<rect width="{width}" height="{height}" fill="#fafafa"/>',
            *arrows,
            *boxes,
            "</svg>\n",
        ]
    )


def room_graph() -> Graph:
    """Which subpackage uses which, by every import of every module, lazy ones included."""
    source = _layout()
    graph: Graph = {subpackage: set() for subpackage in source.SUBPACKAGES}
    for module, targets in source.arrows().items():
        here = source.subpackage(module)
        if here is not None:
            graph[here] |= {source.subpackage(target) for target in targets} - {here, None}
    return graph


def shown_arrows(graph: Graph) -> list[tuple[str, str]]:
    """Arrows without those that follow from others: a to c where a uses b, and b uses c."""
    return [
        (subpackage, used)
        for subpackage, targets in graph.items()
        for used in sorted(targets)
        if not any(used in reachable(graph, other) for other in targets - {used})
    ]


def reachable(graph: Graph, start: str) -> set[str]:
    """All subpackages that one uses, directly or through others."""
    return set(graph[start]).union(*(reachable(graph, used) for used in graph[start]))


def row_of(subpackage: str, graph: Graph) -> int:
    """How high a subpackage stands: above every subpackage that it uses."""
    return 1 + max((row_of(used, graph) for used in graph[subpackage]), default=-1)


def in_words(graph: Graph) -> str:
    """The picture for those who cannot see it."""
    uses = [f"{name} uses {', '.join(sorted(used)) or 'nothing'}" for name, used in graph.items()]
    return f"The packages of pytest_t2i from the ground up: {'; '.join(uses)}."


def _layout() -> ModuleType:
    """The reader of imports that the layout tests use, so that picture and tests agree."""
    folder = REPOSITORY / "tests" / "layout"
    sys.path.insert(0, str(folder))
    try:
        return import_module("source")
    finally:
        sys.path.remove(str(folder))


def _box(subpackage: str, place: Place) -> str:
    words = COLUMNS[subpackage][1]
    return (
        f'<rect class="subpackage" x="{place.x:g}" y="{place.y:g}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="6"/>'
        f'<text class="name" x="{place.middle:g}" y="{place.y + 21:g}">{subpackage}</text>'
        f'<text class="words" x="{place.middle:g}" y="{place.y + 40:g}">{escape(words)}</text>'
    )


def _arrow(upper: Place, lower: Place) -> str:
    """From the bottom of one box to the top of another."""
    start, end = upper.y + BOX_HEIGHT, lower.y
    bend = end - (ROW - BOX_HEIGHT) / 2
    return (
        f'<path class="arrow" marker-end="url(#tip)" d="M{upper.middle:g} {start:g} '
        f'V{bend:g} H{lower.middle:g} V{end:g}"/>'
    )
