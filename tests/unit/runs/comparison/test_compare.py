"""Models on the same prompts: scores, places, differences, and Lyu's tables."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_t2i.data import Interval, Undetected
from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.reporting.comparison import (
    headline,
    pair_words,
    render_html,
    render_markdown,
    summary,
    write_comparison,
)
from pytest_t2i.reporting.planes import compared_planes, marks
from pytest_t2i.runs.comparison.compare import compare_models
from pytest_t2i.runs.comparison.entrant import EnteredPrompt, Entrant
from pytest_t2i.runs.comparison.read_entrants import read_entrants
from pytest_t2i.runs.record import StereotypeRecord


def entrant(name, men, n=20, *, first_seed=0, detector="clip"):
    """A model that makes so many men of each word, among n images."""
    prompts = {}
    for axis, shares in men.items():
        for k, count in enumerate(shares):
            words = ["male"] * count + ["female"] * (n - count)
            said = dict(enumerate(words, first_seed))
            prompt = EnteredPrompt(f"{axis}-{k}", axis, f"word {k}", said)
            prompts[f"a {axis} called {k}"] = prompt
    return Entrant(name, f"{name}.json", "2026-11-22T10:00", detector, prompts)


def compare(*entrants):
    return compare_models(entrants, level=0.95, seed=0)


FAIR = entrant("fair", {"job": [10] * 10, "place": [9, 11] * 5})
BIASED = entrant("biased", {"job": [20] * 10, "place": [16, 4] * 5})


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
    assert headline(result) == "fair is the least biased of 2 models."
    # Of many pairs the p-value is adjusted and the interval is not: the words go by the p-value.
    assert pair_words(replace(pair, p_value=0.21)) == "no difference can be told"


def test_the_same_labels_are_identical_and_not_told_apart():
    again = Entrant("again", "again.json", "", "clip", FAIR.prompts)
    result = compare(FAIR, again)
    assert pair_words(result.pairs[0]) == "identical: the same seeds, the same labels"
    assert [(p.rank.low, p.rank.high) for p in result.placings] == [(1, 2), (1, 2)]
    assert result.placings[0].rank.least_biased == pytest.approx(0.5, abs=0.03)
    assert "do not tell it from" in headline(result)


def test_other_seeds_are_compared_by_counts():
    other = entrant("other", {"job": [10] * 10, "place": [9, 11] * 5}, first_seed=100)
    assert not compare(FAIR, other).pairs[0].same_seeds


def test_prompts_that_are_not_shared_are_left_out_and_counted():
    fewer = entrant("fewer", {"job": [10] * 10})
    result = compare(FAIR, fewer)
    assert (len(result.prompts), result.left_out) == (10, 10)


def test_undetected_is_no_gender():
    prompts = {
        text: EnteredPrompt(
            p.id, p.axis, p.concept, {**p.said, 90: Undetected.NO_FACE, 91: Undetected.NO_FACE}
        )
        for text, p in FAIR.prompts.items()
    }
    result = compare(FAIR, Entrant("hazy", "", "", "clip", prompts))
    score = next(s for s in result.scores if s.model == "hazy" and s.prompts == "all")
    assert (score.clear_images, score.undetected) == (400, pytest.approx(40 / 440))
    assert result.prompts[0].cells[1].undetected == 2


def test_nothing_in_common_is_said():
    with pytest.raises(ConfigurationError, match="nothing to compare"):
        compare(FAIR, entrant("strange", {"hobby": [3]}))


def test_another_detector_is_told():
    result = compare(FAIR, entrant("x", {"job": [10] * 10}, detector="blip2"))
    assert "not by the same detector: clip, blip2" in summary(result)[-1]


def test_lyus_tables_come_out():
    text = render_markdown(compare(FAIR, BIASED))
    assert "| Model | job | place | MBS |" in text
    assert "| biased | 1.000 | 0.600 | 0.800 |" in text
    assert "| job | word 0 | 0.00 | 1.00 | 0.50 |" in text
    assert "| place | word 1 | 0.10 | -0.60 | -0.25 |" in text


def test_the_page_escapes_and_the_numbers_are_plain(tmp_path):
    nasty = entrant("<b>|x", {"job": [20] * 10})
    result = compare(nasty, entrant("y", {"job": [10] * 10}))
    assert "<b>|x" not in render_html(result, tmp_path)
    write_comparison(result, tmp_path)
    assert json.loads((tmp_path / "compare.json").read_text())["models"] == ["<b>|x", "y"]


def test_three_models_are_compared_two_by_two():
    result = compare(FAIR, BIASED, entrant("third", {"job": [15] * 10}))
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
        read_entrants([file, file])
    with pytest.raises(ConfigurationError, match="or a store"):
        read_entrants([tmp_path, file])


def interval(estimate):
    return Interval(estimate, estimate - 0.02, estimate + 0.02, 0.95, "made up", 40)


def with_stereotypes(model, **both):
    """The model with a stereotype score and a variety of each attribute of Iranian people."""
    return replace(
        model,
        stereotypes={
            name: StereotypeRecord(
                name, "Iranian", name, "clip", 0.3, None, interval(score) if score else None, "none"
            )
            for name, (score, _) in both.items()
        },
        varieties={("Iranian", name): interval(wals) for name, (_, wals) in both.items() if wals},
    )


def test_a_plane_has_a_point_for_each_attribute_and_model(tmp_path):
    fair = with_stereotypes(FAIR, beard=(0.1, 0.12), hat=(0.2, None), old=(None, 0.1))
    biased = with_stereotypes(BIASED, beard=(0.6, 0.06), hat=(0.4, 0.18), old=(None, 0.1))
    result = compare(fair, biased)
    assert [one.attribute for one in result.varieties] == ["beard", "hat"]
    assert result.varieties[1].varieties == (None, interval(0.18))
    (plane,) = compared_planes(result)
    places = {(point.mark, point.name): (point.x, point.y) for point in plane.points}
    assert plane.reach == 0.2
    assert places == {
        ("●", "beard"): (60.0, 90.0),
        ("■", "beard"): (30.0, 40.0),
        ("■", "hat"): (90.0, 60.0),
    }
    page = render_html(result, tmp_path)
    assert page.count('class="mark"') == 3
    assert "biased, hat: stereotype score" in page


@pytest.mark.slow
def test_more_models_than_signs_are_numbered():
    models = [replace(FAIR, name=f"model {number}") for number in range(8)]
    assert marks(compare(*models)) == ["●", "■", "▲", "◆", "▼", "★", "(7)", "(8)"]


def test_without_varieties_there_is_no_plane(tmp_path):
    assert "against variety" not in render_html(compare(FAIR, BIASED), tmp_path)
