"""What is handed on names no place of the machine it was made on."""

from __future__ import annotations

from dataclasses import replace

from pytest_t2i.reporting.exports.cards import card_contents
from pytest_t2i.reporting.html import render_html as render_page
from pytest_t2i.reporting.markdown import render_markdown

HOME = "/home/somebody/audit"


def test_card_page_and_summary_name_no_place(record, tmp_path):
    placed = replace(
        record,
        settings={**record.settings, "store": f"{HOME}/.t2i", "report": f"{HOME}/reports/t2i"},
        provenance={
            **record.provenance,
            "command": f"pytest {HOME}/suites",
            "model": {"source": "/usr/lib/python3/site-packages/people/weights"},
        },
        next_steps=(f"look into {HOME}/reports",),
    )
    card = card_contents(placed)
    page = render_page(placed, tmp_path)
    for text in (str(card), page, render_markdown(placed)):
        assert HOME not in text
        assert "/usr/lib" not in text
    assert "people/weights" in page
