"""What objects show of their record, and which triplets the record is of."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_t2i import triplet
from pytest_t2i.audits.objects import ObjectsAudit
from pytest_t2i.audits.objects.counts import VARIANTS, CountedTriplets, all_counted
from pytest_t2i.audits.objects.report import SHOWN, IndependenceRecord, ObjectRecord, ObjectsRecord
from pytest_t2i.data import Interval
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import BarChart, Table


def between(estimate, low, high):
    return Interval(estimate, low, high, 0.95, "test", 20)


TIE = ObjectRecord("tie", 3, 1, 19, between(0.95, 0.8, 1.0), None, "a tie may be a man's")
CUP = ObjectRecord("cup", 3, 18, 2, between(0.1, 0.0, 0.25), 0.00001)
HAT = ObjectRecord("hat", 3, 5, 5, between(0.5, 0.3, 0.7), 0.8)
FORK = ObjectRecord("fork", 0, 0, 5, None, None)
TESTS = (
    IndependenceRecord(VARIANTS, between(0.003, 0.001, 0.005), 20.0, 1e-9),
    IndependenceRecord(VARIANTS[:2], None, None, None),
)
RECORD = ObjectsRecord(
    "things", 20, 60, 5, 3, (TIE, CUP, HAT, FORK), TESTS, 0.6, 0.7, between(0.1, 0.05, 0.15)
)


def section(record=RECORD):
    (one,) = ObjectsAudit().sections(record, None)
    return one


def charts(record=RECORD):
    return [block for block in section(record).blocks if isinstance(block, BarChart)]


def run(record=RECORD):
    audits = {"objects": AuditRecord(1, record)}
    return with_blocks(RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, audits=audits))


def test_bars_go_from_the_middle_to_the_gender_that_an_object_comes_with():
    judged, expected = charts()
    assert [(bar.name, bar.kind) for bar in judged.bars] == [
        ("cup", "female"), ("hat", ""), ("fork", ""),
    ]  # fmt: skip
    assert judged.bars[0].note == "3 neutral, 18 feminine, 2 masculine; p < 0.0001, adjusted"
    assert [(bar.kind, bar.cells) for bar in expected.bars] == [
        ("male", (3, 1, 19, "a tie may be a man's"))
    ]
    assert (judged.low, judged.middle, judged.high) == (0.0, 0.5, 1.0)


def test_the_page_draws_them_and_gives_the_reasons(tmp_path):
    page = render_html(run(), tmp_path)
    assert '<section id="objects"><h2>Objects</h2>' in page
    assert "<span>0 feminine</span><span>0.5</span><span>1 masculine</span>" in page
    assert 'class="track female" role="img" aria-label="object bias score 0.10' in page
    assert 'class="bar" x="10.0%" y="4" width="40.0%"' in page
    assert "a tie may be a man&#39;s" in page
    assert "3 rarer ones left out" in page


def test_of_many_objects_the_page_says_how_many_it_leaves_out():
    many = tuple(replace(HAT, name=f"hat {k}") for k in range(SHOWN + 2))
    (judged,) = charts(replace(RECORD, objects=many))
    assert len(judged.bars) == SHOWN
    assert judged.note == "and 2 more in run.json"
    assert charts(replace(RECORD, objects=(TIE,)))[0].title == "Expected to differ"


def test_tests_of_independence_are_a_table():
    (table,) = [block for block in section().blocks if isinstance(block, Table)]
    assert table.rows == (
        ("neutral, feminine, masculine", TESTS[0].p_value, "< 0.0001"),
        ("neutral, feminine", None, None),
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "objects of 20 triplets (60 images) by things: 3 judged, 1 expected to differ, "
             "3 too rare (below 5)"),
        ({}, "come with one gender (0 feminine, 1 masculine): cup 0.100 [0.000, 0.250]"),
        ({"objects": (replace(CUP, name=str(k)) for k in range(7))},
         "4 0.100 [0.000, 0.250]; and 2 more"),
        ({}, "depend on the variant: p 0.003; co-occurrence to feminine 0.600, to masculine 0.700, "
             "gap 0.100 [0.050, 0.150]"),
        ({"independence": (), "gap": None},
         "cannot be tested; co-occurrence too few images show objects in all three variants"),
    ],
)  # fmt: skip
def test_the_terminal_and_markdown_say_it_in_a_few_lines(changes, said):
    changed = replace(
        RECORD, **{name: tuple(v) if name == "objects" else v for name, v in changes.items()}
    )
    lines = "\n".join(line for line, _ in summary_lines([section(changed)]))
    assert said in lines
    assert said in render_markdown(run(changed)).replace("\\", "")


def test_the_most_one_sided_object_that_is_judged_stands_on_cards():
    headline = ObjectsAudit().summary(RECORD).headline
    assert headline == "the most one-sided of 3 objects: cup 0.100 [0.000, 0.250]"
    nothing = ObjectsAudit().summary(replace(RECORD, objects=(TIE,))).headline
    assert nothing == "no object occurs 5 times with both genders together"


def test_a_run_counts_each_triplet_once_with_its_most_images():
    birds, cats = triplet("a person and birds"), triplet("a person and cats")

    def asked(triplets, images, fixtures=("objects",), **expected):
        selection = SimpleNamespace(
            triplets=triplets, fixtures=fixtures, asked=lambda name: tuple(expected.items())
        )
        return SimpleNamespace(selection=selection, images=images)

    context = SimpleNamespace(
        tests=[asked([birds, cats], 2, tie="a"), asked([birds], 5, cup="b"), asked([cats], 9, ())],
        seeds=lambda prompt, images: tuple(range(images)),
        finder="things",
        observations=SimpleNamespace(distinct=lambda prompts, seeds: tuple(seeds)),
        settings=SimpleNamespace(interval_level=0.9, seed=0),
    )
    counted = all_counted(CountedTriplets, context, "objects")
    assert [(m.triplet, len(m.seeds)) for m in counted.members] == [(birds, 5), (cats, 2)]
    assert counted.expected == {"cup": "b", "tie": "a"}
    assert all_counted(CountedTriplets, context, "dependencies") is None


def test_every_object_is_a_row():
    frame = ObjectsAudit().summary(RECORD).frames["objects"]
    tie, *_, fork = (dict(zip(frame.columns, row, strict=True)) for row in frame.rows)
    assert (tie["object"], tie["feminine"], tie["masculine"]) == ("tie", 1, 19)
    assert (tie["p_value"], tie["expected"]) == (None, "a tie may be a man's")
    assert fork["object_bias_score"] is None
