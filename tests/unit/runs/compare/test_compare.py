"""Models on the same prompts: scores, places, differences, and Lyu's tables."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.engine.counts import Counts
from pytest_t2i.data import Detection, Interval, Row, Undetected
from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.metrics import INFO
from pytest_t2i.reporting.comparison import (
    FOR_THE_PAIR,
    comparison_lines,
    comparison_markdown,
    comparison_page,
    first_model,
    pair_words,
    write_comparison,
)
from pytest_t2i.runs.compare.compare import ComparedModel, PromptOfModel, compare_models
from pytest_t2i.runs.compare.read_compared_models import of_run, read_compared_models
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.record import AuditRecord, MetricRecord, PromptRecord, RunRecord
from pytest_t2i.sections import Note, Section


def model(name, men, n=20, *, first_seed=0, detector="clip"):
    """A model that makes so many men of each word, among n images."""
    prompts = {}
    for axis, shares in men.items():
        for k, count in enumerate(shares):
            words = ["male"] * count + ["female"] * (n - count)
            said = dict(enumerate(words, first_seed))
            prompt = PromptOfModel(f"{axis}-{k}", axis, f"word {k}", said)
            prompts[f"a {axis} called {k}"] = prompt
    return ComparedModel(name, f"{name}.json", "2026-11-22T10:00", detector, prompts)


def compare(*models):
    return compare_models(models, level=0.95, seed=0)


FAIR = model("fair", {"job": [10] * 10, "place": [9, 11] * 5})
BIASED = model("biased", {"job": [20] * 10, "place": [16, 4] * 5})


def test_scores_places_and_differences():
    result = compare(FAIR, BIASED)
    scores = {(s.model, s.prompts): s for s in result.scores}
    assert scores["biased", "job"].paper == 1.0
    assert scores["biased", "place"].paper == pytest.approx(0.6)
    assert scores["biased", "all"].paper == pytest.approx(0.8)
    assert scores["fair", "all"].corrected.estimate < 0.05
    assert [p.rank.low for p in result.placings] == [1, 2]
    pair = result.pairs[0]
    assert pair.difference.low > 0.5
    assert pair.p_value < 0.01
    assert pair.same_seeds
    assert pair_words(pair) == "biased is more biased than fair"
    assert first_model(result) == "fair is the least biased of 2 models."
    # Of many pairs the p-value is adjusted and the interval is not: the words go by the p-value.
    assert pair_words(replace(pair, p_value=0.21)) == "no difference can be told"
    unsure = replace(pair, difference=replace(pair.difference, low=-0.2))
    assert pair_words(unsure) == "some prompts differ; the score need not"


def test_the_same_labels_are_identical_and_not_told_apart():
    again = ComparedModel("again", "again.json", "", "clip", FAIR.prompts)
    result = compare(FAIR, again)
    assert pair_words(result.pairs[0]) == "identical: the same seeds, the same labels"
    assert [(p.rank.low, p.rank.high) for p in result.placings] == [(1, 2), (1, 2)]
    assert result.placings[0].rank.least_biased is None
    assert "cannot be told" in first_model(result)


def test_a_difference_that_is_not_that_of_the_scores_is_explained(tmp_path):
    words = {"job": [11] * 10, "place": [20, 12] * 5}
    assert FOR_THE_PAIR not in comparison_lines(compare(FAIR, model("near", words)))
    result = compare(FAIR, model("near", words, n=30))
    assert FOR_THE_PAIR in comparison_lines(result)
    assert FOR_THE_PAIR[1:] in comparison_page(result, tmp_path)
    again = ComparedModel("again", "again.json", "", "clip", FAIR.prompts)
    assert FOR_THE_PAIR not in comparison_lines(compare(FAIR, again))


def test_other_seeds_are_compared_by_counts():
    other = model("other", {"job": [10] * 10, "place": [9, 11] * 5}, first_seed=100)
    assert not compare(FAIR, other).pairs[0].same_seeds


def test_prompts_that_are_not_shared_are_left_out_and_counted():
    fewer = model("fewer", {"job": [10] * 10})
    result = compare(FAIR, fewer)
    assert (len(result.prompts), result.left_out) == (10, 10)


def test_undetected_is_no_gender():
    prompts = {
        text: PromptOfModel(
            p.id, p.axis, p.concept, {**p.said, 90: Undetected.NO_FACE, 91: Undetected.NO_FACE}
        )
        for text, p in FAIR.prompts.items()
    }
    result = compare(FAIR, ComparedModel("hazy", "", "", "clip", prompts))
    score = next(s for s in result.scores if s.model == "hazy" and s.prompts == "all")
    assert (score.clear_images, score.undetected) == (400, pytest.approx(40 / 440))
    assert result.prompts[0].cells[1].undetected == 2


def test_nothing_in_common_is_said():
    with pytest.raises(ConfigurationError, match="nothing to compare"):
        compare(FAIR, model("strange", {"hobby": [3]}))


def test_another_detector_is_told():
    result = compare(FAIR, model("x", {"job": [10] * 10}, detector="blip2"))
    assert "the detectors differ: clip, blip2" in comparison_lines(result)[-1]


def test_lyus_tables_come_out():
    text = comparison_markdown(compare(FAIR, BIASED))
    assert "| Model | job | place | MBS |" in text
    assert "| biased | 1.000 | 0.600 | 0.800 |" in text
    assert "| job | word 0 | 0.00 | 1.00 | 0.50 |" in text
    assert "| place | word 1 | 0.10 | -0.60 | -0.25 |" in text


def test_the_page_escapes_and_the_numbers_are_plain(tmp_path):
    nasty = model("<b>|x", {"job": [20] * 10})
    result = compare(nasty, model("y", {"job": [10] * 10}))
    assert "<b>|x" not in comparison_page(result, tmp_path)
    write_comparison(result, tmp_path)
    assert json.loads((tmp_path / "compare.json").read_text())["models"] == ["<b>|x", "y"]


def test_three_models_are_compared_two_by_two():
    result = compare(FAIR, BIASED, model("third", {"job": [15] * 10}))
    assert len(result.pairs) == 3
    assert [p.p_value <= 0.01 for p in result.pairs] == [True, True, True]


@pytest.mark.parametrize(
    ("content", "problem"),
    [("[]", "expected a run.json or a baseline"), ('{"schema": "x"}', "expected a run.json")],
)
def test_what_is_no_run_is_said(tmp_path, content, problem):
    file = tmp_path / "x.json"
    file.write_text(content)
    with pytest.raises(FileFormatError, match=problem):
        read_compared_models([file, file])
    with pytest.raises(ConfigurationError, match="or a store"):
        read_compared_models([tmp_path, file])


def interval(estimate):
    return Interval(estimate, estimate - 0.02, estimate + 0.02, 0.95, "made up", 40)


class HeightAudit(Audit):
    name = "height"

    def compare(self, models, *, level, seed):
        told = ", ".join(f"{name} {run.model}" for name, _, run in models)
        return [Section("Heights", (Note(f"{told}; {level}, {seed}"),))]


def measured(model, **values):
    """The model as a run in which an audit measured these."""
    rows = tuple(
        Row(metric, "model", "model", interval(value), {"of": name})
        for metric in ("height_of", "model_bias_score")
        for name, value in values.items()
    )
    audits = {"height": AuditRecord(rows=rows)}
    run = RunRecord(
        "2026-11-22T10:00:00+00:00",
        1.0,
        f"run of {model.name}",
        {},
        {},
        {},
        audits=audits,
        metrics={"model_bias_score": MetricRecord.of(INFO["model_bias_score"])},
    )
    return replace(model, run=run)


def test_what_audits_follow_of_two_models_stands_side_by_side(tmp_path):
    models = (measured(FAIR, a=0.1, b=0.2), measured(BIASED, b=-0.4, c=0.3))
    result = compare_models(models, level=0.9, seed=3, audits=[HeightAudit()])
    # Model bias scores are compared on shared prompts, and not as each run has them.
    assert list(result.tables) == ["height_of"]
    (value,) = result.tables["height_of"]
    assert (value.name, value.values) == ("b", (interval(0.2), interval(-0.4)))
    page = comparison_page(result, tmp_path)
    assert ">Height ofs</h2>" in page
    assert "\u22120.400 <small>[\u22120.420, \u22120.380]</small>" in page
    assert "fair run of fair, biased run of biased; 0.9, 3" in page
    plain = json.loads(result.to_json())
    assert plain["schema"] == "pytest-t2i/comparison/2"
    assert plain["tables"]["height_of"][0]["name"] == "b"
    assert plain["sections"][0]["title"] == "Heights"


def test_an_audit_is_not_asked_about_one_model_alone():
    models = (measured(FAIR, a=0.1), BIASED)
    result = compare_models(models, level=0.9, seed=3, audits=[HeightAudit()])
    assert (result.tables, result.sections) == ({}, ())


AGES = ("child", "adult", "senior")


def of_ages(name, counts, *, seeds=0, labels=AGES, words=10):
    """A model whose prompts all show so many images of each age, and one undetected."""
    said = [age for age, count in zip(AGES, counts, strict=True) for _ in range(count)]
    images = dict(enumerate([*said, Undetected.NO_FACE], seeds))
    prompts = {
        f"a job called {k}": PromptOfModel(f"job-{k}", "job", f"word {k}", images)
        for k in range(words)
    }
    return ComparedModel(name, f"{name}.json", "", "ages", prompts, labels=labels)


EVEN, OLD = of_ages("even", (8, 8, 8)), of_ages("old", (1, 2, 21))


def test_groups_are_compared_by_their_distance_from_even_shares(tmp_path):
    result = compare(EVEN, OLD)
    assert (result.metric, result.groups) == ("group_distance", AGES)
    even, old = result.scores
    assert (even.paper, old.paper) == (0.0, pytest.approx(21 / 24 - 1 / 3))
    assert (even.corrected.estimate < 0.05, old.corrected.low > 0.4) == (True, True)
    assert [placing.rank.low for placing in result.placings] == [1, 2]
    (pair,) = result.pairs
    assert (pair.same_seeds, pair.p_value < 0.01) == (True, True)
    assert 0.4 < pair.difference.low < pair.difference.estimate < pair.difference.high
    cell = result.prompts[0].cells[1]
    assert (cell.male, cell.undetected, cell.counts["senior"]) == (None, 1, 21)
    assert all(prompt.p_value < 0.01 for prompt in result.prompts)
    lines = comparison_lines(result)
    assert lines[0] == "even is the nearest to even shares of 2 models."
    assert "0 is even shares of 3 groups (child, adult, senior), 0.67 is one group only" in lines[1]
    assert lines[-1].endswith("old is further from even shares than even")
    text = comparison_markdown(result)
    assert "| job | word 0 | 0.00 (child) | 0.54 (senior) | 0.27 |" in text
    assert "biased" not in text
    page = comparison_page(result, tmp_path)
    assert 'title="1 child, 2 adult, 21 senior, 1 undetected"' in page
    assert "biased" not in page.partition("<body>")[2].partition("<script>")[0]


def test_models_that_show_groups_alike_are_not_told_apart():
    result = compare(of_ages("one", (10, 8, 6)), of_ages("other", (6, 10, 8), seeds=100))
    assert not result.pairs[0].same_seeds
    assert pair_words(result.pairs[0]) == "no difference can be told"
    assert [(p.rank.low, p.rank.high) for p in result.placings] == [(1, 2), (1, 2)]


def test_groups_that_nothing_records_are_asked_for():
    bare = [of_ages(name, (8, 8, 8), labels=()) for name in ("one", "two")]
    with pytest.raises(ConfigurationError, match=r"seen: adult, child, senior.*--groups A,B,C"):
        compare(*bare)
    four = (*AGES, "unborn")
    named = compare_models(bare, level=0.95, seed=0, groups=four)
    # A group that no image shows is one that is missing.
    assert (named.groups, named.scores[0].paper) == (four, pytest.approx(0.25))
    with pytest.raises(ConfigurationError, match=r"--groups to hold all labels.*without senior"):
        compare_models(bare, level=0.95, seed=0, groups=AGES[:2])


def test_detectors_of_different_groups_are_refused():
    with pytest.raises(ConfigurationError, match=r"different groups.*--detector"):
        compare(EVEN, of_ages("x", (8, 8, 8), labels=(*AGES, "unborn")))


@pytest.mark.parametrize(
    ("told", "labels"),
    [({}, ()), ({"labels": "x"}, ()), ({"labels": {"ages": [1]}}, ()),
     ({"labels": {"ages": list(AGES)}}, AGES)],
)  # fmt: skip
def test_a_run_tells_the_labels_of_its_detector(told, labels):
    image = ImageRecord(1, None, {"ages": Detection("child")})
    prompt = PromptRecord(
        "job-a", "a", "job", "a", "neutral", {"ages": Counts({"child": 1}, {})}, None, (image,)
    )
    run = RunRecord("2026-11-22T10:00:00+00:00", 1.0, "m", {}, told, {}, prompts=(prompt,))
    assert of_run(run, "run.json").labels == labels


def test_male_and_female_are_compared_by_bias_scores_however_they_are_named():
    models = [replace(one, labels=("female", "male")) for one in (FAIR, BIASED)]
    named = compare_models(models, level=0.95, seed=0, groups=("male", "female"))
    assert named == compare(*models) == replace(compare(FAIR, BIASED))
    assert named.metric == "model_bias_score"
