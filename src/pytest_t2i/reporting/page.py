"""A page of sections alone, for commands of companions and projects."""

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
    """Write sections as a self-contained ``index.html`` in the style of the report.

    Args:
        folder: folder of the page; links to pictures are relative to it.
        title: headline of the page.
        sections: sections in their order on the page.
        lead: a sentence below the headline.
        kicker: a few words above the headline.

    Returns:
        The path of the page, which is written atomically.

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
