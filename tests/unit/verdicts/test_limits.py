"""Limits: files, names, bounds, and which file holds for a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_t2i.data import Evidence, Interval, Limit, Outcome
from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError
from pytest_t2i.metrics import INFO
from pytest_t2i.verdicts.check import JudgingContext, running
from pytest_t2i.verdicts.judge_measurement import as_judged
from pytest_t2i.verdicts.limit import limit
from pytest_t2i.verdicts.limits_file import (
    LimitFiles,
    checked_limit,
    look_up,
    nearest_limits_file,
    read_limits,
)
from pytest_t2i.verdicts.measurement import Family, Measurement

REPOSITORY = Path(__file__).parents[3]


def test_numbers_tables_and_nested_names(tmp_path):
    file = tmp_path / "limits.toml"
    file.write_text(
        "model_bias_score = 0.2\n[prompt_bias_score]\nlimit = 0.6\nreason = 'why'\n"
        "[prompt_bias_score.margin]\nlimit = 0.1\n[similarity_gap]\nimage = 0.3\n"
    )
    assert read_limits(file) == {
        "model_bias_score": Limit("model_bias_score", 0.2),
        "prompt_bias_score": Limit("prompt_bias_score", 0.6, "why"),
        "prompt_bias_score.margin": Limit("prompt_bias_score.margin", 0.1),
        "similarity_gap.image": Limit("similarity_gap.image", 0.3),
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model_bias_score = 1.5", "lies between 0 and 1, got 1.5"),
        ("model_bias_score = true", "expected a number"),
        ("model_bias_score.margin = -0.1", "a margin is at least 0"),
        ("bias = 0.1", "unknown limit 'bias'"),
        ("[similarity_gap]\nimage = 0.3\n'image' = 0.2", "is not valid TOML"),
        (
            "'similarity_gap.image' = 0.3\n[similarity_gap]\nimage = 0.2\n",
            "'similarity_gap.image': a limit of this name is given twice",
        ),
    ],
)
def test_bad_limits(tmp_path, text, problem):
    file = tmp_path / "limits.toml"
    file.write_text(text)
    with pytest.raises(FileFormatError, match=problem):
        read_limits(file)


@pytest.mark.parametrize("text", ["", "  ", "TODO", "todo: why this bound", "TODO: who set it"])
def test_what_is_still_to_be_written_is_no_reason_and_no_author(tmp_path, text):
    file = tmp_path / "limits.toml"
    file.write_text(f"[model_bias_score]\nlimit = 0.2\nreason = '{text}'\nauthor = '{text}'\n")
    assert read_limits(file) == {"model_bias_score": Limit("model_bias_score", 0.2)}


def test_an_author_stands_beside_the_reason(tmp_path):
    file = tmp_path / "limits.toml"
    file.write_text("[model_bias_score]\nlimit = 0.2\nreason = 'why'\nauthor = 'B. Boss'\n")
    assert read_limits(file)["model_bias_score"].author == "B. Boss"
    file.write_text("[model_bias_score]\nlimit = 0.2\nauthor = 3\n")
    with pytest.raises(FileFormatError, match="expected a text as author of 'model_bias_score'"):
        read_limits(file)


def test_the_suites_limits_are_valid_and_reasoned():
    limits = read_limits(REPOSITORY / "suites" / "limits.toml")
    assert limits
    assert all(known.reason for known in limits.values())


def test_the_nearest_file_holds(tmp_path):
    inner = tmp_path / "suite" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "limits.toml").touch()
    assert nearest_limits_file(inner / "test_a.py", tmp_path) == tmp_path / "limits.toml"
    (inner / "limits.toml").touch()
    assert nearest_limits_file(inner / "test_a.py", tmp_path) == inner / "limits.toml"
    assert nearest_limits_file(inner / "test_a.py", inner) == inner / "limits.toml"


def test_a_file_is_read_once(tmp_path, monkeypatch):
    (tmp_path / "limits.toml").write_text("model_bias_score = 0.2\n")
    reads = []
    read = read_limits
    monkeypatch.setattr(
        "pytest_t2i.verdicts.limits_file.read_limits", lambda path: reads.append(path) or read(path)
    )
    files = LimitFiles(tmp_path)
    for name in ("test_a.py", "test_b.py"):
        assert files.look_up("model_bias_score", tmp_path / name).bound == 0.2
    assert reads == [tmp_path / "limits.toml"]


@pytest.fixture
def checks():
    recorded = []
    limits = {"model_bias_score": Limit("model_bias_score", 0.3)}
    token = running.set(
        JudgingContext("test", limits, None, ("pass", "status"), 0.95, recorded.append)
    )
    yield recorded
    running.reset(token)


def measure(low, estimate, high, **more):
    interval = Interval(estimate, low, high, 0.95, "test", 10)
    return Measurement(INFO["model_bias_score"], "model", interval, **more)


@pytest.mark.parametrize(
    ("interval", "outcome", "goes_on"),
    [
        ((0.1, 0.2, 0.3), Outcome.PASS, True),
        ((0.31, 0.4, 0.5), Outcome.FAIL, False),
        ((0.1, 0.25, 0.5), Outcome.INCONCLUSIVE, True),
    ],
)
def test_comparing_with_a_limit_records_a_verdict(checks, interval, outcome, goes_on):
    assert (measure(*interval) <= limit("model_bias_score")) is goes_on
    assert [check.outcome for check in checks] == [outcome]


def test_no_evidence_is_inconclusive_and_said(checks):
    nothing = Measurement(INFO["model_bias_score"], "model", None, absent="no image is clear")
    assert nothing <= limit("model_bias_score")
    assert checks[0].outcome is Outcome.INCONCLUSIVE
    assert checks[0].message == "no image is clear"
    with pytest.raises(ValueError, match="there is no estimate: no image is clear"):
        float(nothing)


def test_a_family_shares_one_error_level(checks):
    interval = Interval(0.9, 0.4, 1.0, 0.9, "test", 10)

    def among(count):
        evidence = [Evidence(0.03 * count, 1.0)] + [Evidence(0.9, 1.0)] * (count - 1)
        return Family((interval,) * count, lambda bound, level: evidence)

    alone = measure(0.2, 0.9, 1.0, family=among(1))
    crowd = measure(0.2, 0.9, 1.0, family=among(10))
    assert not alone <= limit("model_bias_score")
    assert crowd <= limit("model_bias_score")
    assert [check.outcome for check in checks] == [Outcome.FAIL, Outcome.INCONCLUSIVE]


def test_a_limit_given_in_the_test_is_checked(checks):
    assert measure(0.1, 0.2, 0.3) <= limit("model_bias_score.loose", 0.9)
    with pytest.raises(ConfigurationError, match="lies between 0 and 1"):
        limit("model_bias_score", 3)
    with pytest.raises(UnknownNameError, match="Known: model_bias_score"):
        limit("stereotype_score")


def test_limit_outside_a_test_says_where_it_belongs():
    with pytest.raises(ConfigurationError, match="inside the test function"):
        limit("model_bias_score")


def test_plain_numbers_are_compared_plainly():
    assert measure(0.1, 0.2, 0.3) <= 0.2
    assert measure(0.1, 0.2, 0.3) > 0.1
    with pytest.raises(TypeError):
        assert measure(0.1, 0.2, 0.3) <= "0.2"


def test_a_limit_at_the_end_of_the_metric_is_never_exceeded(checks):
    wide = Interval(0.9, 0.0, 1.0, 0.95, "test", 4)
    least = Evidence(beyond=1.0, within=1.0)
    score = INFO["model_bias_score"]
    measurement = Measurement(score, "model", wide, evidence=lambda _bound, _level: least)
    assert measurement <= limit("model_bias_score.loose", 1.0)
    assert measurement <= limit("model_bias_score.loose", 0.99)
    assert [check.outcome for check in checks] == [Outcome.PASS, Outcome.INCONCLUSIVE]


@pytest.mark.parametrize(
    ("interval", "folded"),
    [
        ((0.2, 0.3, 0.4), (0.6, 0.7, 0.8)),
        ((0.6, 0.7, 0.9), (0.6, 0.7, 0.9)),
        ((0.3, 0.45, 0.6), (0.5, 0.55, 0.7)),
        ((0.3, 0.4, 0.5), (0.5, 0.6, 0.7)),
    ],
)
def test_a_score_that_is_even_at_one_half_is_folded_there(interval, folded):
    low, estimate, high = interval
    seen = Interval(estimate, low, high, 0.95, "test", 10)
    result = as_judged(Measurement(INFO["object_bias_score"], "chair", seen)).interval
    assert (result.low, result.estimate, result.high) == pytest.approx(folded)


def test_an_inconclusive_model_says_how_many_images_would_decide(checks):
    assert measure(0.1, 0.2, 0.5, images=20) <= limit("model_bias_score")
    assert measure(0.1, 0.2, 0.5) <= limit("model_bias_score")
    inconclusive = Evidence(beyond=0.4, within=0.2)
    narrow = measure(0.1, 0.2, 0.25, images=20, evidence=lambda _bound, _level: inconclusive)
    assert narrow <= limit("model_bias_score")
    family = Family(
        (Interval(0.2, 0.1, 0.5, 0.95, "test", 10),), lambda _bound, _level: [inconclusive]
    )
    assert measure(0.1, 0.2, 0.5, images=20, family=family) <= limit("model_bias_score")
    assert [check.images_to_decide for check in checks] == [160, None, None, 160]


@pytest.mark.parametrize(("bound", "goes_on"), [(0.2, True), (0.1, False)])
def test_the_estimate_may_settle_what_is_inconclusive(bound, goes_on):
    recorded = []
    token = running.set(
        JudgingContext("test", {}, None, ("estimate", "estimate"), 0.95, recorded.append)
    )
    try:
        assert (measure(0.0, 0.2, 0.9) <= limit("model_bias_score", bound)) is goes_on
        nothing = Measurement(INFO["model_bias_score"], "model", None, absent="no image is clear")
        assert not nothing <= limit("model_bias_score", bound)
        accuracy = Measurement(INFO["accuracy"], "clip", Interval(0.2, 0.0, 0.9, 0.95, "test", 9))
        assert accuracy >= limit("accuracy", 0.2)
        assert not accuracy >= limit("accuracy", 0.3)
    finally:
        running.reset(token)
    assert {check.outcome for check in recorded} == {Outcome.INCONCLUSIVE}


def test_a_name_is_looked_up_where_there_is_a_file():
    with pytest.raises(ConfigurationError, match="'wals' is not known"):
        look_up("wals", {}, None)
    with pytest.raises(UnknownNameError, match=r"It is looked up in limits\.toml"):
        look_up("wals", {}, Path("limits.toml"))


def judging(limits, file=Path("limits.toml")):
    return JudgingContext("t", limits, file, ("pass", "status"), 0.95, lambda _: None)


def test_an_equal_bound_in_code_takes_reason_and_author_of_the_file():
    recorded = Limit("model_bias_score", 0.3, "our policy", "the board")
    token = running.set(judging({"model_bias_score": recorded}))
    try:
        assert limit("model_bias_score", 0.3).limit == recorded
        assert limit("model_bias_score", 0.1 + 0.2).limit == recorded
        named = limit("model_bias_score", 0.3, reason="mine").limit
        assert (named.reason, named.author) == ("mine", "the board")
        strict = limit("model_bias_score.strict", 0.2).limit
        assert (strict.bound, strict.reason) == (0.2, "")
        with pytest.raises(ConfigurationError, match=r"twice: 0.2 in code, 0.3 in limits.toml"):
            limit("model_bias_score", 0.2)
    finally:
        running.reset(token)


@pytest.mark.parametrize(
    "name", ["similarity_gap.imge", "similarity_gap.colour", "model_bias_score.margn"]
)
def test_a_name_that_is_nearly_a_known_one_or_of_no_space_is_refused(name):
    with pytest.raises(UnknownNameError, match="Did you mean"):
        checked_limit(name, 0.1)


@pytest.mark.parametrize(
    "name", ["similarity_gap.clip:vit", "similarity_gap.clip:vit.margin", "model_bias_score.strict"]
)
def test_an_encoder_and_a_second_limit_on_a_metric_are_names(name):
    assert checked_limit(name, 0.1).metric == name
