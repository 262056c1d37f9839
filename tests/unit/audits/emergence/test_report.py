"""What emergence shows of its record: curves over steps, a table, a line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_t2i.audits.emergence import EmergenceAudit
from pytest_t2i.audits.emergence.report import (
    EmergencePart,
    EmergenceRecord,
    ForeseenRecord,
    frames,
)
from pytest_t2i.data import JPEG, Interval, Outcome
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import CurveChart, Table
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.check import Check


def share(estimate):
    return Interval(estimate, estimate - 0.1, estimate + 0.1, 0.95, "", 9)


SPI = EmergenceRecord(
    "e", "p", "nurse", "hat", True, (1.0, 0.5), (0.1, -0.2), (0.0, -0.3), (0.2, -0.1),
    Interval(1.5, 1.2, 1.8, 0.95, "", 8), 8, "", ((0.1, 0.2),), (0.25, 0.5), (0.15, 0.4),
    (0.35, 0.6),
)  # fmt: skip
PLAIN = replace(SPI, guidance=False, attribute="plain", high=(0.45, 0.45))
BLIND = replace(
    SPI, attribute="cap", mean=(), low=(), high=(), centred=(), centred_low=(), centred_high=(),
    half_step=None, absent="one image shows no spread",
)  # fmt: skip
FORESEEN = ForeseenRecord(
    "f", "p", "nurse", "hat", "clip", (share(0.2), share(0.4), share(0.5)), (3, 1, 0), 2,
    (f"{JPEG}AAAA",),
)  # fmt: skip
PART = EmergencePart((SPI, PLAIN, BLIND), (FORESEEN,))


def run(part):
    audits = {"emergence": AuditRecord(1, part)}
    run = RunRecord("2026-11-22T10:00:00+00:00", 9.0, "mine", {}, {}, {}, audits=audits)
    return with_blocks(run)


def charts(part):
    sections = EmergenceAudit().sections(part, run(part))
    return [b for section in sections for b in section.blocks if isinstance(b, CurveChart)]


def test_what_was_made_with_guidance_is_drawn_on_one_scale():
    spi, foreseen = charts(PART)
    assert (spi.title, spi.low, spi.high) == ("nurse: hat", -0.5, 0.5)
    assert (spi.mean, spi.band, spi.marked) == (SPI.mean, (SPI.low, SPI.high), (1.2, 1.8))
    assert spi.note == (
        "8 images; half of the final lean by step 1.500 [1.200, 1.800]; centred +0.25 "
        "[+0.15, +0.35] at step 1"
    )
    assert spi.label.startswith("SPI from +0.10 at the first step to \u22120.20 at the last of 2")
    assert (foreseen.mean, foreseen.low, foreseen.high) == ((0.2, 0.4, 0.5), 0.0, 1.0)
    assert foreseen.note == "settles at step 2; finished images 0.50 [0.40, 0.60]"


def test_a_step_without_any_label_leaves_no_curve():
    gap = replace(FORESEEN, shares=(None, share(0.4), None), settles=None)
    (chart,) = charts(EmergencePart((), (gap,)))
    assert (chart.mean, chart.band) == ((), ((), ()))
    assert chart.note == "finished images no clear image; 2 steps without any label"


@pytest.mark.parametrize("part", [EmergencePart(), EmergencePart((BLIND, PLAIN))])
def test_nothing_is_shown_of_nothing(part):
    assert list(EmergenceAudit().sections(part, run(part))) == []


@pytest.mark.parametrize(
    ("firsts", "line"),
    [
        ((-4.5, 0.6), "first step adds most of nurse: a1, +0.600 [+0.500, +0.700]"),
        ((-4.5, -0.2), "first step leads to none, least away from nurse: a1, -0.200"),
    ],
)
def test_what_the_first_step_adds(firsts, line):
    part = EmergencePart(tuple(
        replace(
            SPI, attribute=f"a{k}", half_step=None, centred=(first, 0.0),
            centred_low=(first - 0.1, 0.0), centred_high=(first + 0.1, 0.0),
        )
        for k, first in enumerate(firsts)
    ))  # fmt: skip
    (told,) = (line for line, _ in summary_lines(EmergenceAudit().sections(part, run(part))))
    assert told.startswith(f"emergence (SPI, centred): {line}")
    headline = EmergenceAudit().summary(part).headline
    assert told.startswith(headline)
    assert "[" not in headline


def spi_check(record, low, estimate, high, *, centred=True):
    subject = f"{record.prompt}-{record.attribute} centred" if centred else record.id
    return Check(
        "test_it", "centred_spi" if centred else "spi", subject, Outcome.FAIL, estimate, low, high,
        0.95, "bootstrap", 4, "<=", 0.5,
        caveats=(Caveat("remark", "mean of the first 1 of 2 steps"),),
    )  # fmt: skip


def texts_of(part, checks):
    judged = replace(run(part), checks=tuple(checks))
    section = EmergenceAudit().sections(part, judged)[0]
    told = [line for line, _ in summary_lines([section])]
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    return told, table, [b.note for b in section.blocks if isinstance(b, CurveChart)]


WIDE = replace(
    SPI, half_step=None, centred=(0.953, 0.0), centred_low=(-1.073, -2.0), centred_high=(0.963, 2.0)
)


def test_a_check_and_the_headline_beside_it_show_one_interval():
    part = EmergencePart((WIDE,))
    told, table, notes = texts_of(part, [spi_check(WIDE, 0.847, 0.953, 1.059)])
    shown = "+0.953 [+0.847, +1.059]"
    assert told == [
        f"emergence (SPI, centred): first steps add most of nurse: {WIDE.attribute}, {shown} "
        "(mean of the first 1 of 2 steps)"
    ]
    assert table.rows[0][2] == shown
    assert shown in notes[0]
    assert "1.073" not in "".join([*told, *map(str, table.rows), *notes])


def test_what_is_not_judged_names_its_step():
    part = EmergencePart((WIDE,))
    _, table, _ = texts_of(part, [spi_check(WIDE, 0.1, 0.2, 0.3, centred=False)])
    assert table.rows[0][1] == "+0.200 [+0.100, +0.300]"
    assert table.rows[0][2].endswith("at step 1")


def test_of_several_judged_attributes_the_headline_is_the_largest():
    other = replace(WIDE, attribute="other", id=f"{WIDE.id}-other")
    checks = [spi_check(WIDE, -0.3, -0.2, -0.1), spi_check(other, 0.1, 0.2, 0.3)]
    told, _, _ = texts_of(EmergencePart((WIDE, other)), checks)
    assert "first steps add most of nurse: other, +0.200" in told[0]
    told, _, _ = texts_of(EmergencePart((WIDE,)), checks[:1])
    assert "first steps lead to none, least away from nurse" in told[0]


def test_checks_of_other_metrics_and_without_evidence_change_nothing():
    part = EmergencePart((WIDE,))
    plain, _, _ = texts_of(part, [])
    other = replace(spi_check(WIDE, 0.1, 0.2, 0.3), metric="wals")
    empty = replace(spi_check(WIDE, 0.1, 0.2, 0.3), estimate=None, low=None, high=None, level=None)
    assert texts_of(part, [other, empty])[0] == plain


def test_the_page_and_the_summary(tmp_path):
    page = render_html(run(PART), tmp_path)
    for told in (
        'id="emergence-of-attributes"', 'id="denoising-previews"', f'src="{JPEG}AAAA"',
        '<polygon class="band"', '<rect class="marked" x="20.0"',
        "<span>\u22120.50 to +0.50</span>", "<span>0 % to 100 %</span>",
        "<span>finished images</span>",
    ):  # fmt: skip
        assert told in page
    assert page.count('<div class="planes">') == 2
    summary = render_markdown(run(PART))
    row = "nurse: hat | +0.100 \\[+0.000, +0.200\\] | +0.250 \\[+0.150, +0.350\\] | 1.500 [1.200"
    assert row in summary
    assert "cap" not in summary


def rows_of(part, table):
    frame = frames(part)[table]
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.rows]


def test_each_curve_has_a_row():
    first, _, blind = rows_of(PART, "emergence")
    assert (first["concept"], first["attribute"], first["guidance"]) == ("nurse", "hat", True)
    assert first["half_step"].estimate == 1.5
    assert (blind["half_step"], blind["absent"]) == (None, "one image shows no spread")


def test_each_step_has_a_row_with_its_band():
    first, second = rows_of(EmergencePart((SPI,)), "emergence_steps")
    assert (first["step"], first["noise"]) == (1, 1.0)
    assert (first["spi"], first["spi_low"], first["spi_high"]) == (0.1, 0.0, 0.2)
    assert (second["centred"], second["centred_low"], second["centred_high"]) == (0.5, 0.4, 0.6)


def test_a_step_without_a_band_has_empty_cells():
    for row in rows_of(EmergencePart((BLIND,)), "emergence_steps"):
        assert row["noise"] is not None
        assert row["spi"] is row["centred_high"] is None


def test_what_steps_foresee_ends_with_the_finished_images():
    found = rows_of(EmergencePart((), (FORESEEN,)), "foreseen_steps")
    assert [row["step"] for row in found] == [1, 2, 3]
    assert [row["share"].estimate for row in found] == pytest.approx([0.2, 0.4, 0.5])
    assert [row["undetected"] for row in found] == [3, 1, 0]
    blind = replace(FORESEEN, shares=(), undetected=())
    assert rows_of(EmergencePart((), (blind,)), "foreseen_steps") == []
