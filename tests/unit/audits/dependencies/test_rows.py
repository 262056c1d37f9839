"""What dependency groups record as rows, and show: a picture of each, charts and tables."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from installed import needs
from PIL import Image

from pytest_t2i import triplet
from pytest_t2i.audits.dependencies import DependenciesAudit
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import Box, FoundObject, Interval, Mask, Row
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import Overlay, Overlays, Paragraph, RowChart, Table


def between(estimate, low, high):
    return Interval(estimate, low, high, 0.95, "test", 20)


WHOLE = Mask.of(np.ones((8, 8), bool))
GUIDED, HIDDEN = {"group": "explicitly_guided"}, {"group": "hidden"}
COUNTS = {"triplets": 20, "images": 58, "left_out": 2, "nouns": 7}


def share(dims, value, different, **counts):
    facts = {"name": dims["group"].replace("_", " "), "finder": "things"}
    counts = COUNTS | counts | {"different": different}
    return Row("dependency_group_share", "model", "model", value, dims, facts, counts)


ROWS = (
    share(GUIDED, between(0.6, 0.5, 0.7), 2),
    Row(
        "object_independence", "model (neutral, feminine, masculine)", "group",
        between(0.003, 0.001, 0.005), GUIDED | {"variants": "neutral, feminine, masculine"},
    ),
    Row(
        "object_bias_score", "object tie (explicitly_guided)", "object", between(0.95, 0.8, 1.0),
        GUIDED, {"name": "tie", "p_value": 0.01},
        {"neutral": 3, "feminine": 1, "masculine": 19},
    ),
    *(
        Row("object_occurrences", f"object {name} (explicitly_guided)", "object", times, GUIDED,
            {"name": name})
        for name, times in (("tie", 9), ("cup", 2))
    ),
    *(
        Row("group_overlap", "model", "group", value, GUIDED | {"other": other})
        for other, value in (("hidden", 0.25), ("nouns", 1.0))
    ),
    share(HIDDEN, None, 0),
)  # fmt: skip
TOLD = "attention to tie covers 80 % of it"
WORDS = ("explicitly guided", f"tie: {TOLD}", "a man with a tie")
OVERLAY = Overlay("a.png", WHOLE, WHOLE, WORDS, "; ".join(WORDS))


def section(*rows):
    (one,) = DependenciesAudit().sections(Rows(rows or ROWS), None)
    return one


def tables(*rows):
    return [block for block in section(*rows).blocks if isinstance(block, Table)]


def run(file="a.png"):
    rows = Rows(ROWS, (Overlays((replace(OVERLAY, file=file),)),))
    audits = {"dependencies": AuditRecord(rows=rows.rows)}
    run = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, audits=audits)
    return with_blocks(run, measured={"dependencies": rows})


def test_the_picture_of_a_group_lies_on_the_page(tmp_path):
    file = tmp_path / "a.png"
    Image.new("RGB", (8, 8), (200, 120, 60)).save(file)
    page = render_html(run(str(file)), tmp_path)
    assert f'alt="explicitly guided; tie: {TOLD}; a man with a tie"' in page
    assert f"<b>explicitly guided</b><br>tie: {TOLD}<br>a man with a tie" in page
    assert 'src="data:image/webp;base64,' in page
    gone = render_html(run(), tmp_path)
    assert "picture gone" in gone
    assert "data:image/webp" not in gone


def test_every_picture_that_is_shown_is_known_to_the_check_of_its_place():
    assert set(run().files()) == {"a.png"}


def test_groups_are_charts():
    shares, skewed = [block for block in section().blocks if isinstance(block, RowChart)]
    assert (shares.metrics, shares.columns) == (("dependency_group_share",), ("different",))
    assert (skewed.title, skewed.subjects) == (
        "Explicitly guided", ("object tie (explicitly_guided)",),
    )  # fmt: skip


def test_groups_are_tables():
    summary, most, tests, over = tables()
    assert summary.rows[0] == ("explicitly guided", ROWS[0].value, 2, "0.003")
    assert most.rows[0][1:] == ("tie 9, cup 2", "tie 0.950 [0.800, 1.000]")
    assert most.rows[1][1:] == ("-", "-")
    assert tests.rows[0] == ("explicitly guided", "0.003", None, None, None)
    assert over.columns == ("Over", "hidden", "nouns")
    assert over.rows == (("explicitly guided", 0.25, 1.0), ("hidden", None, None))


def test_the_terminal_and_markdown_have_a_line_for_each_group():
    lines = [line for line, _ in summary_lines([section()])]
    assert lines[0] == "dependency groups of 20 triplets (58 images, 2 images left out) by things"
    assert lines[1] == (
        "Group explicitly guided, Share of images 0.600 [0.500, 0.700], Different 2, p 0.003"
    )
    text = render_markdown(run())
    assert "| explicitly guided | 0.600 [0.500, 0.700] | 2 | 0.003 |" in text
    assert "tie 9, cup 2" in text


def test_without_attention_it_is_said_and_nothing_else():
    nothing = share(GUIDED, None, 0, images=0, left_out=60)
    told = [block for block in section(nothing).blocks if isinstance(block, Paragraph)]
    said = "dependency groups: none of 60 images shows word attention"
    assert [block.text for block in told] == [said]
    assert tables(nothing) == []


SIDE = 16


def strip(left, right):
    pixels = np.zeros((SIDE, SIDE), bool)
    pixels[:, left:right] = True
    return pixels


class Seen:
    """Observations of a model whose attention lies on the word "bird"."""

    def draws_anew(self):
        return False

    def distinct(self, prompts, seeds):
        return tuple(seeds)

    def objects(self, prompt, seeds, finder):
        name = "tie" if "man" in prompt.text.split() else "cup"
        box = Box(0, 0, SIDE, SIDE)
        regions = ((name, strip(2, 6)), ("bird", strip(0, 4)))
        return [tuple(FoundObject(n, box, Mask.of(p)) for n, p in regions) for _ in seeds]

    def arrays(self, prompt, seeds, name):
        from pytest_t2i.prompts.words_in_prompts import attention_words

        words = attention_words(prompt.text)
        nothing = np.zeros((SIDE, SIDE))
        return [np.array([strip(0, 4) if w == "bird" else nothing for w in words]) for _ in seeds]

    def pictures(self, prompt, seeds):
        return [Image.new("RGB", (SIDE, SIDE)) for _ in seeds]

    def images(self, prompt, seeds):
        return [SimpleNamespace(file=f"{seed}.png") for seed in seeds]


@pytest.fixture(scope="module")
def measured():
    needs("textblob")
    needs("lemminflect")
    selection = SimpleNamespace(
        triplets=[triplet("a person with a kite and a bird")],
        fixtures=("dependencies",),
        asked=lambda name: (),
    )
    context = SimpleNamespace(
        tests=[SimpleNamespace(selection=selection, images=12)],
        seeds=lambda prompt, images: tuple(range(images)),
        finder="things",
        observations=Seen(),
        settings=SimpleNamespace(interval_level=0.9, seed=0),
    )
    return Rows.measured(DependenciesAudit().rows(context))


@pytest.mark.slow
def test_every_group_has_rows_of_its_own(measured):
    assert len({(r.metric, r.subject, *sorted(r.dims.items())) for r in measured}) == len(
        list(measured)
    )
    shares = {row.dims["group"]: row for row in measured.of("dependency_group_share")}
    assert shares["explicitly_guided"].value.estimate == 1.0
    assert shares["hidden"].counts == {
        "triplets": 1, "images": 36, "left_out": 0, "nouns": 2, "different": 1,
    }  # fmt: skip
    scores = measured.of("object_bias_score", "object")
    assert [(row.subject, row.dims["group"], row.value.estimate) for row in scores] == [
        ("object bird (explicitly_guided)", "explicitly_guided", 0.5),
        ("object cup (implicitly_independent)", "implicitly_independent", 0.0),
        ("object tie (implicitly_independent)", "implicitly_independent", 1.0),
        ("object kite (hidden)", "hidden", 0.5),
    ]
    counts = [(row.name, row.value) for row in measured.of("object_occurrences", "object")]
    assert counts == [("bird", 36), ("cup", 24), ("tie", 12), ("kite", 36)]
    tests = measured.of("object_independence", "group")
    assert len(tests) == 5 * 4
    uneven = {(r.dims["group"], r.dims["variants"]) for r in tests if r.interval is not None}
    assert ("implicitly_independent", "feminine, masculine") in uneven
    overlaps = {
        (row.dims["group"], row.dims["other"]): row.value
        for row in measured.of("group_overlap", "group")
    }
    assert overlaps["hidden", "nouns"] == 1.0
    assert overlaps["explicitly_guided", "hidden"] == 0.0


@pytest.mark.slow
def test_the_pictures_of_groups_say_what_is_hidden_or_covered(measured):
    overlays, note = measured.pictures
    assert note.text.startswith("The clearest picture of each group's most frequent object")
    assert [(picture.file, *picture.words[:2]) for picture in overlays.pictures] == [
        ("0.png", "explicitly guided", "bird: attention to bird covers 100 % of it"),
        ("0.png", "implicitly independent", "cup: attention to bird covers 50 % of it"),
        ("0.png", "hidden", "kite: named, but not in the picture"),
    ]
