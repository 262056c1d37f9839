"""A page of sections alone: what a command of one's own shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_t2i.files import write_whole
from pytest_t2i.reporting.html import PICTURES, rendered
from pytest_t2i.reporting.html_sections import drawn
from pytest_t2i.sections import Section


def write_page(
    folder: str | Path, title: str, sections: Sequence[Section], *, lead: str = "", kicker: str = ""
) -> Path:
    """Write sections as ``index.html``, self-contained, in the looks of the report.

    Args:
        folder: where it is written; pictures are linked relative to it.
        title: its headline.
        sections: what it shows, in order.
        lead: a sentence below the headline.
        kicker: a few words above it.

    Returns:
        The page. It is written whole or not at all.

    >>> import tempfile
    >>> from pytest_t2i import sections
    >>> shown = sections.Section("Cost", (sections.Paragraph("Seven passes a picture."),))
    >>> page = write_page(tempfile.mkdtemp(), "A mitigation", [shown])
    >>> "Seven passes" in page.read_text()
    True
    """
    folder = Path(folder)
    page = folder / "index.html"
    words = {"title": title, "lead": lead, "kicker": kicker}
    text = rendered("page.html.j2", words | {"audit_sections": drawn(sections, folder)}, PICTURES)
    write_whole(page, text.encode())
    return page
