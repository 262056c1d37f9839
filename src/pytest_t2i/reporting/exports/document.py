"""The PDF of a run: cover, contents, Fairness Card and report on numbered pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from pytest_t2i.adapters.support.escaping import clean
from pytest_t2i.adapters.support.html import content_policy, own_source
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import write_whole
from pytest_t2i.reporting.exports.fairness_card import fairness_card, shown
from pytest_t2i.reporting.exports.printing import pages_of, printed
from pytest_t2i.reporting.html import contents_of_page, templates
from pytest_t2i.reporting.pictures import Album
from pytest_t2i.reporting.run_facts import identity
from pytest_t2i.reporting.verdict_section import headline
from pytest_t2i.runs.machine_paths import portable
from pytest_t2i.runs.record import RunRecord

PICTURES = 12
"""Number of pictures per prompt in the PDF, two rows; the HTML page shows all."""
SECTION = re.compile(r'<section id="([^"]+)"[^>]*>\s*<h2>(.*?)</h2>', re.DOTALL)
PART = re.compile(r'<h1 class="part" id="([^"]+)">(.*?)</h1>')
FOLDED = re.compile(r"<details\b(?![^>]*\bopen\b)")
TAG = re.compile(r"<[^>]*>")
OUTWARD = re.compile(r' href="(?!#)[^"]*"')
"""A link to a file, which is useless on paper and would reveal paths of the machine in a PDF."""


class Entry(NamedTuple):
    """One line of the table of contents."""

    anchor: str
    title: str
    is_part: bool


def write_pdf(record: RunRecord, file: Path, authors: tuple[str, ...]) -> bool:
    """Write card and report as a PDF; return whether its table of contents has page numbers.

    Raises:
        ConfigurationError: the run has no model, or the browser printed nothing.
        MissingExtraError: there is neither a browser nor WeasyPrint.
    """
    if not record.model:
        raise ConfigurationError("a PDF is about a model; this run tried detectors on images")
    library = templates()
    style = own_source(library, "style.css") + own_source(library, "document.css")
    body = _body(record, file.parent, authors)
    content = printed(_document(record, body, style, {}), style)
    counts_itself = b"WeasyPrint" in content
    pages = {} if counts_itself else pages_of(content)
    if pages:
        content = printed(_document(record, body, style, pages), style)
    write_whole(file, content)
    return counts_itself or bool(pages)


def _document(record: RunRecord, body: str, style: Markup, pages: Mapping[str, int]) -> str:
    shown_of_run = portable(record)
    return (
        templates()
        .get_template("document.html.j2")
        .render(
            record=shown_of_run,
            headline=headline(shown_of_run),
            identity=identity(shown_of_run),
            stated=record.statement.rows(),
            body=Markup(body),  # noqa: S704 - rendered by our own templates
            contents=_contents(body),
            pages=pages,
            style=style,
            policy=content_policy(style, "", "img-src data:"),
        )
    )


def _body(record: RunRecord, folder: Path, authors: tuple[str, ...]) -> str:
    """Return card and report as HTML, everything unfolded, without links to files."""
    context = contents_of_page(record, folder, None)
    context["albums"] = [_shortened(album) for album in context["albums"]]
    context["is_on_paper"] = True
    card = shown(clean(fairness_card(record, authors)))
    text = templates().get_template("document_body.html.j2").render(card | context)
    return OUTWARD.sub("", FOLDED.sub("<details open", text))


def _shortened(album: Album) -> Album:
    """Return the album with only the first pictures of each prompt."""
    grids = (
        replace(
            grid,
            pictures=grid.pictures[:PICTURES],
            left_out=grid.left_out + max(0, len(grid.pictures) - PICTURES),
        )
        for grid in album.grids
    )
    return replace(album, grids=tuple(grids))


def _contents(body: str) -> list[Entry]:
    """Return the entries of parts and sections in their order in the body."""
    found = [
        (match.start(), Entry(unescape(match[1]), unescape(TAG.sub("", match[2])), pattern is PART))
        for pattern in (PART, SECTION)
        for match in pattern.finditer(body)
    ]
    return [entry for _, entry in sorted(found)]
