"""What objects record as rows, what is shown of these, and which triplets they are of."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from seen_objects import SEEDS, Seen, of_gender

from pytest_t2i import triplet
from pytest_t2i.audits.engine.rows import Rows, chart_of
from pytest_t2i.audits.objects import NAMED, SHOWN, ObjectsAudit
from pytest_t2i.audits.objects.counts import CountedTriplets, all_counted
from pytest_t2i.data import Interval, Row
from pytest_t2i.metrics import INFO
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import RowChart, Table


def between(estimate, low, high):
    return Interval(estimate, low, high, 0.95, "test", 20)


def found(name, counts, score=None, p_value=None, expected=""):
    facts = {"name": name, "p_value": p_value, "expected": expected}
    counts = dict(zip(("neutral", "feminine", "masculine"), counts, strict=True))
    absent = "" if score else "with neither gender"
    return Row("object_bias_score", f"object {name}", "object", score, {}, facts, counts, absent)


def independence(variants, *values):
    p_value, plain = values or (None, None)
    facts = {"chi_square_p_value": plain} if values else {}
    dims = {"variants": variants}
    return Row("object_independence", f"model ({variants})", "model", p_value, dims, facts)


TIE = found("tie", (3, 1, 19), between(0.95, 0.8, 1.0), None, "a tie may be a man's")
CUP = found("cup", (3, 18, 2), between(0.1, 0.0, 0.25), 0.00001)
HAT = found("hat", (3, 5, 5), between(0.5, 0.3, 0.7), 0.8)
FORK = found("fork", (0, 0, 5))
TESTS = (
    independence("neutral, feminine, masculine", between(0.003, 0.001, 0.005), 1e-9),
    independence("neutral, feminine"),
)
GAP = Row(
    "cooccurrence_gap", "model", "model", between(0.1, 0.05, 0.15), {},
    {"finder": "things", "to_feminine": 0.6, "to_masculine": 0.7},
    {"triplets": 20, "images": 60, "judged": 3, "not_judged": 1, "rare": 3, "least": 5},
)  # fmt: skip
ROWS = (GAP, *TESTS, TIE, CUP, HAT, FORK)


def section(*rows):
    (one,) = ObjectsAudit().sections(Rows(rows or ROWS), None)
    return one


def charts(*rows):
    rows = rows or ROWS
    blocks = [block for block in section(*rows).blocks if isinstance(block, RowChart)]
    return [chart_of(block, rows, INFO, ()) for block in blocks]


def run(*rows):
    audits = {"objects": AuditRecord(rows=rows or ROWS)}
    record = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, audits=audits)
    return with_blocks(replace(record, metrics=dict(INFO)))


def measured(names=of_gender, **expected):
    asked = SimpleNamespace(
        selection=SimpleNamespace(
            triplets=[triplet(f"a person and {k} birds") for k in range(20)],
            fixtures=("objects",),
            asked=lambda name: tuple(expected.items()),
        ),
        images=len(SEEDS),
    )
    observations = Seen(names)
    observations.distinct = lambda prompts, seeds: tuple(seeds)
    context = SimpleNamespace(
        tests=[asked],
        seeds=lambda prompt, images: SEEDS,
        finder="things",
        observations=observations,
        settings=SimpleNamespace(interval_level=0.9, seed=0),
    )
    return Rows.measured(ObjectsAudit().rows(context))


def test_rows_have_the_subjects_of_checks():
    rows = measured(tie="a man's")
    assert [(row.metric, row.subject) for row in rows if row.about == "model"] == [
        ("cooccurrence_gap", "model"),
        ("object_bias_score", "model (most one-sided object)"),
        ("object_bias_score", "model (all objects together)"),
        ("object_independence", "model (neutral, feminine, masculine)"),
        ("object_independence", "model (neutral, feminine)"),
        ("object_independence", "model (neutral, masculine)"),
        ("object_independence", "model (feminine, masculine)"),
    ]
    by_name = {row.name: row for row in rows.of("object_bias_score", "object")}
    assert list(by_name) == ["cup", "tie", "hat"]
    tie, cup = by_name["tie"], by_name["cup"]
    assert (tie.subject, tie.value.estimate) == ("object tie", 1.0)
    assert tie.counts == {"neutral": 40, "feminine": 0, "masculine": 40}
    assert (tie.facts["p_value"], tie.facts["expected"]) == (None, "a man's")
    assert cup.facts["p_value"] < 0.05
    assert rows.rows[0].counts == {
        "triplets": 20, "images": 120, "judged": 2, "not_judged": 1, "rare": 0, "least": 10,
    }  # fmt: skip
    paired = rows.one("object_independence", "model (feminine, masculine)")
    assert paired.facts["chi_square_p_value"] < 1e-9


def test_what_cannot_be_measured_says_why():
    rows = measured(lambda prompt, seed: [])
    assert {row.subject: row.value for row in rows if row.value is not None} == {}
    assert all(row.absent for row in rows)
    assert "cannot be tested" in "".join(line for line, _ in summary_lines([section(*rows)]))


def test_bars_go_from_the_middle_to_the_gender_that_an_object_comes_with():
    judged, expected = charts()
    assert [(bar.name, bar.kind) for bar in judged.bars] == [
        ("cup", "female"), ("hat", ""), ("fork", ""),
    ]  # fmt: skip
    assert judged.columns == ("Neutral", "Feminine", "Masculine", "P value")
    assert judged.bars[0].cells == (3, 18, 2, "< 0.0001")
    assert judged.bars[2].absent == "with neither gender"
    assert [(bar.kind, bar.cells) for bar in expected.bars] == [
        ("male", (3, 1, 19, "a tie may be a man's"))
    ]
    assert (judged.low, judged.middle, judged.high) == (0.0, 0.5, 1.0)


def test_limits_lie_on_both_sides_of_the_middle():
    block = next(block for block in section().blocks if isinstance(block, RowChart))
    check = SimpleNamespace(
        metric="object_bias_score",
        subject="object cup",
        against="limit",
        bound=0.75,
        outcome=None,
        interval=CUP.value,
        low=CUP.value.low,
        high=CUP.value.high,
    )
    cup, hat, _ = chart_of(block, ROWS, INFO, (check,)).bars
    assert (cup.limits, hat.limits) == ((0.25, 0.75), ())


def test_the_page_draws_them_and_gives_the_reasons(tmp_path):
    page = render_html(run(), tmp_path)
    assert "<h2>Objects</h2>" in page
    assert 'class="track female" role="img" aria-label="object bias score 0.10' in page
    assert 'class="bar" x="10.0%" y="4" width="40.0%"' in page
    assert "a tie may be a man&#39;s" in page
    assert "3 too rare (below 5)" in page


def test_of_many_objects_the_page_says_how_many_it_leaves_out():
    many = [replace(HAT, subject=f"object hat {k}") for k in range(SHOWN + 2)]
    (judged,) = charts(GAP, *many)
    assert len(judged.bars) == SHOWN
    assert judged.title == "Judged, and 2 more in run.json"
    assert charts(GAP, TIE)[0].title == "Expected to differ, not judged"


def test_tests_of_independence_are_a_table():
    (table,) = [block for block in section().blocks if isinstance(block, Table)]
    assert table.rows == (
        ("neutral, feminine, masculine", TESTS[0].value, "< 0.0001"),
        ("neutral, feminine", None, None),
    )


CUPS = [
    replace(CUP, subject=f"object {k}", facts=CUP.facts | {"name": str(k)})
    for k in range(NAMED + 2)
]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (ROWS, "objects of 20 triplets (60 images) by things: 3 judged, 1 expected to differ, "
               "3 too rare (below 5); the most one-sided: cup 0.100 [0.000, 0.250]"),
        ((GAP, TIE), "(below 5); none to judge"),
        (ROWS, "come with one gender (0 feminine, 1 masculine): cup 0.100 [0.000, 0.250]"),
        ((GAP, *CUPS), "4 0.100 [0.000, 0.250]; and 2 more"),
        (ROWS, "depend on the variant: p 0.003; co-occurrence similarity of neutral images to "
               "feminine 0.600, to masculine 0.700, gap 0.100 [0.050, 0.150]"),
        ((replace(GAP, value=None),), "cannot be tested; co-occurrence similarity of neutral "
                                      "images: too few images show objects in all three variants"),
    ],
)  # fmt: skip
def test_the_terminal_and_markdown_say_it_in_a_few_lines(rows, said):
    lines = "\n".join(line for line, _ in summary_lines([section(*rows)]))
    assert said in lines
    assert said in render_markdown(run(*rows)).replace("\\", "")


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
