"""What is handed on names no place of the machine it was made on."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_t2i.reporting.exports.fairness_card import fairness_card, render_html
from pytest_t2i.reporting.html import render_html as render_page
from pytest_t2i.reporting.machine_paths import without_machine
from pytest_t2i.reporting.markdown import render_markdown

HOME = "/home/somebody/audit"


@pytest.mark.parametrize(
    ("told", "short"),
    [
        (f"{HOME}/fairness/limits.toml", "fairness/limits.toml"),
        (HOME, "."),
        (f"{HOME}-2/weights", "weights"),
        (f"pytest {HOME}/suites --t2i-model /data/sdxl", "pytest suites --t2i-model sdxl"),
        ("C:\\Users\\me\\sdxl", "sdxl"),
        ("/opt/venv/lib/python3.12/site-packages/people/weights", "people/weights"),
        ("openai:gpt-image-1@https://host/v1/images", "openai:gpt-image-1@https://host/v1/images"),
        ("and/or, 3/4 and ./model", "and/or, 3/4 and ./model"),
    ],
)
def test_paths_are_named_from_the_project_or_by_their_name(told, short):
    assert without_machine(told, HOME) == short


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
    card = fairness_card(placed, ())
    page = render_page(placed, tmp_path)
    for text in (json.dumps(card), render_html(card), page, render_markdown(placed)):
        assert HOME not in text
        assert "/usr/lib" not in text
    assert card["system"]["source"] == "people/weights"
    assert "people/weights" in page
