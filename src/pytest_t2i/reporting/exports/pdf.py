"""The PDF of a run: cover, contents, Fairness Card and report on numbered pages."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple
from urllib.parse import unquote

from markupsafe import Markup

from pytest_t2i.errors import ConfigurationError, MissingExtraError, printable
from pytest_t2i.files import write_whole
from pytest_t2i.reporting.exports.cards import card_contents
from pytest_t2i.reporting.html import contents_of_page, page_environment
from pytest_t2i.reporting.page import content_policy, own_source
from pytest_t2i.reporting.pictures import PictureAlbum
from pytest_t2i.reporting.run_facts import identity
from pytest_t2i.runs.record.record import RunRecord

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
VARIABLE = re.compile(r"var\((--[\w-]+)(?:,[^)]*)?\)")
ROOT = re.compile(r"^:root\s*\{([^}]*)\}", re.MULTILINE)
MEDIA = re.compile(
    r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}|@page[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}"
)
DRAWS = ("fill", "stroke", "color")
"""Prefixes of the properties that colour a drawing."""
OPENING = re.compile(r"<svg\b[^>]*>")


def _with_styles_inside(page: str, style: str) -> str:
    """Copy the rules of the style sheet that colour drawings into every SVG of the page."""
    inner = f"<style>{_drawing_rules(style)}</style>"
    return OPENING.sub(lambda match: match[0] + inner, page)


def _drawing_rules(style: str) -> str:
    """Return the rules that colour drawings, with the values of variables for a light page.

    >>> _drawing_rules(":root { --ink: #123; } .a { top: 0 } .bar { fill: var(--ink); top: 1px }")
    '.bar { fill: #123 }'
    """
    plain = COMMENT.sub("", style)
    values = dict(re.findall(r"(--[\w-]+):\s*([^;]+);", "".join(ROOT.findall(plain)[:1])))
    rules = []
    for selector, declarations in RULE.findall(MEDIA.sub("", plain)):
        drawing_declarations = [
            VARIABLE.sub(lambda match: values.get(match[1], "#000"), declaration.strip())
            for declaration in declarations.split(";")
            if declaration.strip().startswith(DRAWS)
        ]
        if drawing_declarations and ":" not in selector:
            rules.append(f"{selector.strip()} {{ {'; '.join(drawing_declarations)} }}")
    return " ".join(rules)


BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)  # fmt: skip
"""Browsers that support ``--print-to-pdf``."""
PATIENCE = 300.0
"""Longest time for a browser to print, in seconds."""
FLAGS = (
    "--headless", "--disable-gpu", "--disable-extensions", "--disable-background-networking",
    "--no-first-run", "--no-pdf-header-footer",
)  # fmt: skip


def browser() -> str | None:
    """Return the path of the first browser found; None without one."""
    return next((path for name in BROWSERS if (path := which(name))), None)


def printed(page: str, style: str) -> bytes:
    """Return the page as a PDF; ``style`` is the style sheet within the page."""
    program = browser()
    return (
        _by_weasyprint(_with_styles_inside(page, style))
        if program is None
        else _by_browser(program, page)
    )


def _by_browser(program: str, page: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="t2i-pdf-", ignore_cleanup_errors=True) as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        command = [
            program,
            *FLAGS,
            # Chromium refuses to run as root with its sandbox; the page has no script.
            *(["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []),
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        try:
            process = subprocess.run(  # noqa: S603 - an installed browser prints a page of ours
                command,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ConfigurationError(f"{program} printed nothing within {PATIENCE:g} s") from None
        except OSError as error:
            raise ConfigurationError(f"{program} cannot be run: {error}") from None
        if not target.is_file():
            words = process.stderr.decode(errors="replace").strip().splitlines()
            last = printable(words[-1]) if words else "no message on stderr"
            raise ConfigurationError(
                f"{program} printed nothing (exit {process.returncode}): {last}"
            )
        return target.read_bytes()


def _by_weasyprint(page: str) -> bytes:
    try:
        import weasyprint
    except (ImportError, OSError) as error:  # OSError: a system library is absent
        missing = "weasyprint" if isinstance(error, ImportError) else "libpango"
        raise MissingExtraError("a PDF without a browser", "pdf", missing) from None
    # The page contains everything, pictures as data URIs; any other address is refused.
    fetcher = weasyprint.URLFetcher(allowed_protocols={"data"})
    return bytes(weasyprint.HTML(string=page, url_fetcher=fetcher).write_pdf())


def pages_of(content: bytes) -> dict[str, int]:
    """Return the page number of every anchor of a PDF; {} without pypdf."""
    try:
        from io import BytesIO

        import pypdf
    except ImportError:
        return {}
    reader = pypdf.PdfReader(BytesIO(content))
    pages = {
        unquote(name.lstrip("/")): reader.get_destination_page_number(destination)
        for name, destination in reader.named_destinations.items()
    }
    return {name: number + 1 for name, number in pages.items() if number is not None}


PICTURES = 10
"""Number of pictures per prompt in the PDF, two rows; the HTML page shows all."""
SECTION = re.compile(r'<section id="([^"]+)"[^>]*>\s*<h2>(.*?)</h2>', re.DOTALL)
PART = re.compile(r'<h1 class="part" id="([^"]+)">(.*?)</h1>')
FOLDED = re.compile(r"<details\b(?![^>]*\bopen\b)")
TAG = re.compile(r"<[^>]*>")
OUTWARD = re.compile(r' href="(?!#)[^"]*"')
"""A link to a file, which is useless on paper and would reveal paths of the machine in a PDF."""


class ContentsEntry(NamedTuple):
    """One line of the table of contents."""

    anchor: str
    title: str
    is_part: bool


def write_pdf(record: RunRecord, file: Path) -> bool:
    """Write card and report as a PDF; return whether its table of contents has page numbers."""
    if not record.model:
        raise ConfigurationError("a PDF is about a model; this run tried detectors on images")
    library = page_environment()
    style = own_source(library, "style.css") + own_source(library, "document.css")
    context = _contents_on_paper(record, file.parent)
    body = _as_on_paper("document_body.html.j2", context)
    content = printed(_document(context, body, style, {}), style)
    counts_itself = b"WeasyPrint" in content
    pages = {} if counts_itself else pages_of(content)
    if pages:
        content = printed(_document(context, body, style, pages), style)
    write_whole(file, content)
    return counts_itself or bool(pages)


def _document(
    context: Mapping[str, Any], body: str, style: Markup, pages: Mapping[str, int]
) -> str:
    more = {
        "body": Markup(body),  # noqa: S704 - rendered by our own templates
        "contents": _contents(body),
        "pages": pages,
        "style": style,
        "policy": content_policy(style, "", "img-src data:"),
    }
    return _as_on_paper("document.html.j2", {**context, **more})


def _contents_on_paper(record: RunRecord, folder: Path) -> dict[str, Any]:
    """Return the variables of the templates of cover, card and report."""
    context = contents_of_page(record, folder)
    return context | {
        "albums": [_shortened(album) for album in context["albums"]],
        "is_on_paper": True,
        "card": card_contents(record),
        "identity": identity(context["record"]),
    }


def body_on_paper(record: RunRecord, folder: Path) -> str:
    """Return card and report as HTML."""
    return _as_on_paper("document_body.html.j2", _contents_on_paper(record, folder))


def _as_on_paper(template: str, context: Mapping[str, Any]) -> str:
    """Render a template with everything unfolded, without links to files."""
    text = page_environment().get_template(template).render(context)
    return OUTWARD.sub("", FOLDED.sub("<details open", text))


def _shortened(album: PictureAlbum) -> PictureAlbum:
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


def _contents(body: str) -> list[ContentsEntry]:
    """Return the entries of parts and sections in their order in the body."""
    entries = [
        (
            match.start(),
            ContentsEntry(unescape(match[1]), unescape(TAG.sub("", match[2])), pattern is PART),
        )
        for pattern in (PART, SECTION)
        for match in pattern.finditer(body)
    ]
    return [entry for _, entry in sorted(entries)]
