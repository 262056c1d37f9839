"""What stereotypes show: shares against the real world, scores against variety."""

from __future__ import annotations

import re

import pytest
from stereotype_rows import stereotype_rows, wals_row

from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.audits.stereotypes import StereotypesAudit
from pytest_t2i.data import Interval, Outcome
from pytest_t2i.reporting.first_screen import figures
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.reporting.verdict_section import subject_notes
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import BarChart, Note, Plane
from pytest_t2i.verdicts.check import Check

AUDIT = StereotypesAudit()


def around(estimate):
    return Interval(estimate, estimate - 0.02, estimate + 0.02, 0.95, "made up", 40)


def one(name, expected, share, score, **more):
    seen = [None if value is None else around(value) for value in (share, score)]
    return stereotype_rows(name, "Iranian", name, expected, *seen, **{"source": "a census"} | more)


BEARD = one("beard", 0.3, 0.4, 0.1)
MODERN = one("modern", 0.5, 0.2, 0.3, direction="under", margin=0.1, source="")
OLD = one("old", 0.4, None, None)
LIMIT = Check(
    "test_it", "stereotype_score", "modern", Outcome.FAIL, 0.3, 0.2, 0.4, 0.95, "", 40, "<=", 0.2
)


def variety(**wals):
    return Rows(tuple(
        wals_row(name, None if value is None else around(value), direction, centred=centred)
        for name, known in wals.items()
        for direction, centred, value in (
            ("images", False, 0.9), ("text", True, 0.9), ("text", False, known),
        )
    ))  # fmt: skip


def run_of(part, *checks, other=None):
    parts = {"stereotypes": part} | ({} if other is None else {"variety": other})
    audits = {name: AuditRecord(rows=kept.rows) for name, kept in parts.items()}
    run = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, checks, audits=audits)
    return with_blocks(run)


def rows_of(*stereotypes):
    return Rows(tuple(row for pair in stereotypes for row in pair))


def sections(*stereotypes, checks=(), other=None):
    part = rows_of(*stereotypes)
    return AUDIT.sections(part, run_of(part, *checks, other=other))


def chart(section):
    (found,) = [block for block in section.blocks if isinstance(block, BarChart)]
    return found


def test_a_share_stands_beside_the_real_world_with_its_score_and_verdict():
    (section,) = sections(BEARD, MODERN, OLD, checks=[LIMIT])
    bars = chart(section).bars
    assert [(bar.interval, bar.reference, bar.score) for bar in bars] == [
        (around(0.4), 0.3, around(0.1)), (around(0.2), 0.5, around(0.3)), (None, 0.4, None),
    ]  # fmt: skip
    assert [bar.outcome for bar in bars] == [None, Outcome.FAIL, None]
    # The limit is of the score: of a lack it lies below the real world's share.
    assert bars[1].limits == (pytest.approx(0.3),)
    assert bars[1].note == (
        "20% of images, 50.0% in the real world; prone to be shown too rarely; margin 0.1"
    )


def test_the_sources_are_told():
    (section,) = sections(BEARD, MODERN)
    assert section.blocks[-1] == Note("Sources: a census.")
    (section,) = sections(MODERN)
    assert section.blocks[-1] == Note("Sources: none given.")


def test_the_highest_score_is_a_line_of_the_terminal_and_a_figure():
    told = [text for text, _ in summary_lines(sections(BEARD, MODERN, OLD))]
    assert told == ["stereotype score: highest 0.300 (Iranian: modern) of 2"]
    assert list(summary_lines(sections(OLD))) == []
    (figure,) = figures(run_of(rows_of(BEARD, MODERN, OLD)))
    assert figure.value == "0.300"
    assert figure.notes[1] == "furthest of 2: Iranian: modern"
    assert figure.target == sections(BEARD)[0].anchor


def test_page_and_markdown_show_score_share_and_real_world(tmp_path):
    part = rows_of(BEARD, MODERN, OLD)
    page = render_html(run_of(part, LIMIT), tmp_path)
    words = re.sub(r"\s+", " ", page)
    assert "20% of images, 50.0% in the real world" in words
    assert "0.300 [0.280, 0.320]" in words
    assert 'class="track over"' in words
    assert "<span>share of images</span>" in words
    assert "no clear image" in words
    markdown = render_markdown(run_of(part, LIMIT))
    assert "| Iranian | share of images | real world | \u03a8 |" in markdown
    assert "| beard | 0.400 [0.380, 0.420] | 0.300 | 0.100 [0.080, 0.120] |" in markdown
    assert "| old | - | 0.400 | - |" in markdown


def test_scores_against_variety_along_the_texts():
    shown = sections(BEARD, MODERN, OLD, other=variety(beard=0.12, old=0.1, hat=0.3, modern=None))
    (plane,) = [block for block in shown[1].blocks if isinstance(block, Plane)]
    assert [(p.name, p.x, p.y) for p in plane.points] == [("beard", around(0.12), around(0.1))]
    assert (plane.x.high, plane.y.high) == (0.2, 1.0)
    assert (plane.x.better, plane.y.better) == ("high", "low")


def test_without_both_scores_there_is_no_plane():
    assert len(sections(BEARD)) == 1
    assert len(sections(BEARD, other=variety(hat=0.2))) == 1
    assert list(sections()) == []


def model(name, *stereotypes, other=None):
    part = rows_of(*stereotypes)
    return name, part, run_of(part, other=other)


def test_models_share_a_plane_with_a_sign_each():
    high = one("beard", 0.3, 0.9, 0.6)
    models = [
        model("fair", BEARD, other=variety(beard=0.12)),
        model("biased", high, MODERN, other=variety(beard=0.06, modern=0.4)),
    ]  # fmt: skip
    (section,) = AUDIT.compare(models, level=0.95, seed=0)
    (plane,) = [block for block in section.blocks if isinstance(block, Plane)]
    assert [(p.series, p.sign, p.name) for p in plane.points] == [
        ("fair", "\u25cf", "beard"), ("biased", "\u25a0", "beard"), ("biased", "\u25a0", "modern"),
    ]  # fmt: skip
    assert plane.x.high == 0.5
    assert "\u25cf fair, \u25a0 biased." in section.blocks[0].text
    assert AUDIT.compare([model("a", BEARD), model("b", BEARD)], level=0.95, seed=0) == ()


def test_more_models_than_signs_are_numbered():
    several = [model(f"m{k}", BEARD, other=variety(beard=0.1)) for k in range(8)]
    (section,) = AUDIT.compare(several, level=0.95, seed=0)
    (plane,) = [block for block in section.blocks if isinstance(block, Plane)]
    assert [p.sign for p in plane.points][5:] == ["\u2605", "(7)", "(8)"]


def test_what_other_places_show():
    rows = rows_of(BEARD, OLD)
    assert rows.series()["stereotype_score/beard"] == around(0.1)
    assert len(rows.table()[1]) == 4
    assert subject_notes(run_of(rows))["beard"] == "40% of images, 30.0% in the real world"
