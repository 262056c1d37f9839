"""What emergence shows of its rows: curves over steps, a table, a line."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import JPEG, Interval, Outcome, Row
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import CurveChart, Table
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.check import Check


def around(estimate, reach=0.1):
    return Interval(estimate, estimate - reach, estimate + reach, 0.95, "", 9)


class Curve(NamedTuple):
    """A curve of the images of "nurse", of which rows are made."""

    attribute: str = "hat"
    spi: tuple[Interval, ...] = (around(0.1), around(-0.2))
    centred: tuple[Interval, ...] = (around(0.25), around(0.5))
    guidance: bool = True
    absent: str = ""

    @property
    def id(self):
        return f"p-{self.attribute}{'' if self.guidance else ' without guidance'}"

    @property
    def centred_id(self):
        return f"p-{self.attribute} centred"

    @property
    def rows(self):
        facts = {"name": self.attribute, "concept": "nurse", "prompt": "p"}
        facts["guidance"] = self.guidance
        mean = None if self.absent else around(0.0)
        yield Row("spi", self.id, "prompt", mean, {}, facts, {"images": 8}, self.absent)
        bands = (("spi", self.id, self.spi), ("centred_spi", self.centred_id, self.centred))
        for metric, subject, band in bands:
            for step, value in enumerate(band, 1):
                yield Row(metric, subject, "step", value, {"step": step}, facts | {"noise": 0.5})


SPI = Curve()
PLAIN = Curve("plain", (around(0.1), around(-0.4)), (), guidance=False)
BLIND = Curve("cap", (), (), absent="one image shows no spread")
OWN = CurveChart("spi p-hat None", (0.1, -0.2), -1.0, 1.0, curves=((0.1, 0.2),))
FILM = CurveChart("settled_step p-hat None", (), 0.0, 1.0, strips=(f"{JPEG}AAAA",))


SHARES = (around(0.2), around(0.4), around(0.5))


def foreseen(shares=SHARES, settles=2.0):
    facts = {"name": "hat", "concept": "nurse", "prompt": "p", "detector": "clip"}
    return (
        Row("settled_step", "p-hat", "prompt", settles, {}, facts, {"images": 9}),
        *(
            Row("foreseen_share", "p-hat", "step", share, {"step": step}, facts, {"images": 9})
            for step, share in enumerate(shares, 1)
        ),
    )


def part_of(*curves, more=(), pictures=()):
    return Rows((*(row for curve in curves for row in curve.rows), *more), pictures)


PART = part_of(SPI, PLAIN, BLIND, more=foreseen(), pictures=(OWN, FILM))


def run(part, checks=()):
    audits = {"emergence": AuditRecord(rows=part.rows)}
    run = RunRecord("2026-11-22T10:00:00+00:00", 9.0, "mine", {}, {}, {}, checks, audits=audits)
    return with_blocks(run, measured={"emergence": part})


def charts(part):
    return [b for each in run(part).sections for b in each.blocks if isinstance(b, CurveChart)]


def test_what_was_made_with_guidance_is_drawn_on_one_scale():
    spi, foreseen = charts(PART)
    assert (spi.title, spi.low, spi.high) == ("nurse: hat", -0.5, 0.5)
    assert spi.mean == (0.1, -0.2)
    assert spi.band == ((0.0, pytest.approx(-0.3)), (0.2, -0.1))
    assert (spi.curves, foreseen.strips) == (OWN.curves, FILM.strips)
    assert spi.note == "8 images; centred +0.25 [+0.15, +0.35] at step 1"
    assert spi.label.startswith("SPI from +0.10 at the first step to \u22120.20 at the last of 2")
    assert (foreseen.mean, foreseen.low, foreseen.high) == ((0.2, 0.4, 0.5), 0.0, 1.0)
    assert foreseen.note == "settles at step 2; finished images 0.50 [0.40, 0.60]"


def test_without_pictures_only_the_means_are_drawn():
    spi, foreseen = charts(Rows(PART.rows))
    assert (spi.curves, foreseen.strips) == ((), ())


def test_a_step_without_any_label_leaves_no_curve():
    (chart,) = charts(part_of(more=foreseen((None, around(0.4), None), None)))
    assert (chart.mean, chart.band) == ((), ((), ()))
    assert chart.note == "finished images no clear image; 2 steps without any label"


@pytest.mark.parametrize("part", [part_of(BLIND, PLAIN), part_of(more=foreseen((), None))])
def test_nothing_is_shown_of_nothing(part):
    assert run(part).sections == []


def test_attributes_of_one_name_are_told_apart():
    def apart(row):
        return replace(row, dims=row.dims | {"descriptions": "1a2b"})

    other = map(apart, Curve(spi=(around(0.3), around(0.3))).rows)
    first, second = charts(part_of(SPI, more=tuple(other), pictures=(OWN,)))
    assert (first.mean, second.mean) == ((0.1, -0.2), (0.3, 0.3))
    assert (first.curves, second.curves) == (OWN.curves, ())


@pytest.mark.parametrize(
    ("firsts", "line"),
    [
        ((-4.5, 0.6), "first step adds most of nurse: a1, +0.600 [+0.500, +0.700]"),
        ((-4.5, -0.2), "first step leads to none, least away from nurse: a1, -0.200"),
    ],
)
def test_what_the_first_step_adds(firsts, line):
    part = part_of(*(
        Curve(f"a{k}", centred=(around(first), around(0.0)))
        for k, first in enumerate(firsts)
    ))  # fmt: skip
    (told,) = (text for text, _ in summary_lines(run(part).sections))
    assert told.startswith(f"emergence (SPI, centred): {line}")


def spi_check(curve, low, estimate, high, *, centred=True):
    return Check(
        "test_it", "centred_spi" if centred else "spi", curve.centred_id if centred else curve.id,
        Outcome.FAIL, estimate, low, high, 0.95, "bootstrap", 4, "<=", 0.5,
        caveats=(Caveat("remark", "mean of the first 1 of 2 steps"),),
    )  # fmt: skip


def texts_of(part, checks):
    section = run(part, tuple(checks)).sections[0]
    told = [line for line, _ in summary_lines([section])]
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    return told, table, [b.note for b in section.blocks if isinstance(b, CurveChart)]


WIDE = Curve(centred=(Interval(0.953, -1.073, 0.963, 0.95, "", 8), around(0.0, 2.0)))


def test_a_check_and_the_headline_beside_it_show_one_interval():
    part = part_of(WIDE)
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
    part = part_of(WIDE)
    _, table, _ = texts_of(part, [spi_check(WIDE, 0.1, 0.2, 0.3, centred=False)])
    assert table.rows[0][1] == "+0.200 [+0.100, +0.300]"
    assert table.rows[0][2].endswith("at step 1")


def test_of_several_judged_attributes_the_headline_is_the_largest():
    other = WIDE._replace(attribute="other")
    checks = [spi_check(WIDE, -0.3, -0.2, -0.1), spi_check(other, 0.1, 0.2, 0.3)]
    told, _, _ = texts_of(part_of(WIDE, other), checks)
    assert "first steps add most of nurse: other, +0.200" in told[0]
    told, _, _ = texts_of(part_of(WIDE), checks[:1])
    assert "first steps lead to none, least away from nurse" in told[0]


def test_checks_of_other_metrics_and_without_evidence_change_nothing():
    part = part_of(WIDE)
    plain, _, _ = texts_of(part, [])
    other = replace(spi_check(WIDE, 0.1, 0.2, 0.3), metric="wals")
    empty = replace(spi_check(WIDE, 0.1, 0.2, 0.3), estimate=None, low=None, high=None, level=None)
    assert texts_of(part, [other, empty])[0] == plain


def test_the_page_and_the_summary(tmp_path):
    page = render_html(run(PART), tmp_path)
    for told in (
        'id="emergence-of-attributes"', 'id="denoising-previews"', f'src="{JPEG}AAAA"',
        '<polygon class="band"',
        "<span>\u22120.50 to +0.50</span>", "<span>0 % to 100 %</span>",
        "<span>finished images</span>",
    ):  # fmt: skip
        assert told in page
    assert page.count('<div class="planes">') == 2
    summary = render_markdown(run(PART))
    row = "nurse: hat | +0.100 \\[+0.000, +0.200\\] | +0.250 \\[+0.150, +0.350\\]"
    assert row in summary
    assert "cap" not in summary


def test_every_row_is_in_the_table():
    columns, cells = PART.table()
    assert len(cells) == len(PART.rows)
    assert {"step", "noise", "guidance"} <= set(columns)
