"""What dependency groups show of their record: a picture of each, charts and tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PIL import Image

from pytest_t2i.audits.dependencies import DependenciesAudit
from pytest_t2i.audits.dependencies.report import DependenciesRecord, ExampleRecord, GroupRecord
from pytest_t2i.audits.objects.counts import VARIANTS
from pytest_t2i.audits.objects.report import IndependenceRecord, ObjectRecord
from pytest_t2i.data import Interval, Mask
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import BarChart, Overlays, Paragraph, Table


def between(estimate, low, high):
    return Interval(estimate, low, high, 0.95, "test", 20)


WHOLE = Mask.of(np.ones((8, 8), bool))
TIE = ObjectRecord("tie", 3, 1, 19, between(0.95, 0.8, 1.0), 0.01)
TESTS = (IndependenceRecord(VARIANTS, between(0.003, 0.001, 0.005), 20.0, 1e-9),)
EXAMPLE = ExampleRecord("tie", "a man with a tie", 7, "a.png", WHOLE, "tie", WHOLE, 0.8)
GUIDED = GroupRecord(
    "explicitly_guided", between(0.6, 0.5, 0.7), 2, {"tie": 9, "cup": 2}, (TIE,), TESTS,
    {"hidden": 0.25, "nouns": 1.0}, EXAMPLE,
)  # fmt: skip
HIDDEN = GroupRecord("hidden", None, 0, {}, (), (), {}, None)
RECORD = DependenciesRecord("things", 20, 58, 2, 7, (GUIDED, HIDDEN))


def section(record=RECORD):
    (one,) = DependenciesAudit().sections(record, None)
    return one


def tables(record=RECORD):
    return [block for block in section(record).blocks if isinstance(block, Table)]


def run(record=RECORD):
    audits = {"dependencies": AuditRecord(1, record)}
    return with_blocks(RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, audits=audits))


def test_the_picture_of_a_group_lies_on_the_page(tmp_path):
    file = tmp_path / "a.png"
    Image.new("RGB", (8, 8), (200, 120, 60)).save(file)
    there = replace(RECORD, groups=(replace(GUIDED, example=replace(EXAMPLE, file=str(file))),))
    page, told = render_html(run(there), tmp_path), "attention to tie covers 80 % of it"
    assert f'alt="explicitly guided: tie: {told}; a man with a tie"' in page
    assert f"<b>explicitly guided</b><br>tie: {told}<br>a man with a tie" in page
    assert 'src="data:image/webp;base64,' in page
    gone = render_html(run(), tmp_path)
    assert "picture gone" in gone
    assert "data:image/webp" not in gone


def test_every_picture_that_is_shown_is_known_to_the_check_of_its_place():
    assert set(run().files()) == {"a.png"}
    assert set(run().files()) == {"a.png"}


def test_words_of_a_picture_say_what_is_hidden_or_not_looked_at():
    hidden = replace(HIDDEN, example=replace(EXAMPLE, name="scene"))
    apart = replace(GUIDED, example=replace(EXAMPLE, noun=""))
    (pictures,) = [
        block.pictures
        for block in section(replace(RECORD, groups=(hidden, apart))).blocks
        if isinstance(block, Overlays)
    ]
    assert [picture.words[1] for picture in pictures] == [
        "scene: named, but not in the picture", "tie: no noun has attention",
    ]  # fmt: skip


def test_groups_are_charts():
    presence, skewed = [block for block in section().blocks if isinstance(block, BarChart)]
    assert [bar.interval for bar in presence.bars] == [GUIDED.presence, None]
    assert (skewed.title, skewed.bars[0].name, skewed.bars[0].kind) == (
        "Explicitly guided", "tie", "male",
    )  # fmt: skip


def test_groups_are_tables():
    summary, most, tests, over = tables()
    assert summary.rows[0] == ("explicitly guided", GUIDED.presence, 2, "0.003")
    assert most.rows[0][1:] == ("tie 9, cup 2", "tie 0.950 [0.800, 1.000]")
    assert most.rows[1][1:] == ("-", "-")
    assert tests.rows[0] == ("explicitly guided", "0.003", None, None, None)
    assert over.rows[0] == ("explicitly guided", None, None, None, None, 0.25, 1.0)
    assert over.columns[-2:] == ("hidden", "nouns")


def test_the_terminal_and_markdown_have_a_line_for_each_group():
    lines = [line for line, _ in summary_lines([section()])]
    assert lines[0] == "dependency groups of 20 triplets (58 images, 2 images left out)"
    assert lines[1] == (
        "Group explicitly guided, Share of images 0.600 [0.500, 0.700], Different 2, p 0.003"
    )
    text = render_markdown(run())
    assert "| explicitly guided | 0.600 [0.500, 0.700] | 2 | 0.003 |" in text
    assert "tie 9, cup 2" in text


def test_without_attention_it_is_said_and_nothing_else():
    nothing = replace(RECORD, images=0, left_out=60)
    told = [block for block in section(nothing).blocks if isinstance(block, Paragraph)]
    said = "dependency groups: none of 60 images shows word attention"
    assert [block.text for block in told] == [said]
    assert tables(nothing) == []
    assert DependenciesAudit().summary(nothing).headline == said


def test_every_group_is_a_row():
    frame = DependenciesAudit().summary(RECORD).frames["dependency_groups"]
    guided, hidden = (dict(zip(frame.columns, row, strict=True)) for row in frame.rows)
    assert (guided["group"], guided["presence"].estimate, guided["objects"]) == (
        "explicitly_guided", 0.6, 2,
    )  # fmt: skip
    assert guided["independence_p_value"].estimate == 0.003
    assert hidden["presence"] is hidden["independence_p_value"] is None
