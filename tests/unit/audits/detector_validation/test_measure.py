"""A detector against people's labels, and against its recorded self."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from PIL import Image

from pytest_t2i import limit
from pytest_t2i.audits.detector_validation.change import RecordedTrial
from pytest_t2i.data import Outcome, Undetected
from pytest_t2i.errors import BaselineMismatchError
from pytest_t2i.verdicts.baseline import RecordedRun
from pytest_t2i.verdicts.baseline_file import Baseline


def recorded(trial, fingerprint="colour-1"):
    record = asdict(RecordedTrial.of(trial.labelled, fingerprint, trial.said))
    audits = {"detector_validation": {"colour": record}}
    return RecordedRun(Baseline("", "", {}, {}, {}, audits=audits))


def test_what_is_kept_what_is_lost_and_what_is_right(tried):
    trial = tried(people="mmmmffff??", detector="mmm?ffmm?m")
    assert trial.filter_recall.estimate == pytest.approx(7 / 8)
    assert trial.filter_precision.estimate == pytest.approx(7 / 8)
    assert trial.filter_rate.estimate == pytest.approx(1 / 2)
    assert trial.accuracy().estimate == pytest.approx(5 / 7)
    assert trial.accuracy("male").estimate == pytest.approx(1.0)
    assert trial.accuracy("female").estimate == pytest.approx(1 / 2)
    assert [m.image.file for m in trial.mistakes] == ["03.png", "06.png", "07.png", "09.png"]
    assert trial.confusion["male", Undetected.NO_FACE] == 1


def test_a_group_that_is_left_out_more_often_fails(tried, checks):
    even = tried(people="m" * 45 + "f" * 45, detector="m" * 45 + "f" * 45)
    assert even.undetected_gap <= limit("undetected_gap", 0.2)
    left_out = tried(people="m" * 45 + "f" * 45, detector="m" * 45 + "?" * 30 + "f" * 15)
    assert left_out.undetected_gap.estimate == pytest.approx(2 / 3)
    assert not left_out.undetected_gap <= limit("undetected_gap", 0.2)
    assert [check.outcome for check in checks] == [Outcome.PASS, Outcome.FAIL]
    assert tried(people="mm?", detector="mm?").undetected_gap.interval is None


def test_a_judge_that_says_something_else_the_next_time_fails(tried, checks):
    trial = tried(people="mmff", detector="mmff")
    for equal in (100, 99, 60):
        asked = replace(trial, asked_twice=(equal, 100))
        bool(asked.self_agreement >= limit("self_agreement", 0.95))
    outcomes = [check.outcome for check in checks]
    assert outcomes == [Outcome.PASS, Outcome.PASS, Outcome.FAIL]
    assert trial.self_agreement.interval is None


def test_the_same_words_of_the_same_detector_are_no_regression(tried, checks):
    trial = tried(people="mmff?", detector="mmfm?")
    assert trial.accuracy() >= recorded(trial)("accuracy")
    assert checks[0].outcome is Outcome.PASS
    assert (checks[0].method, checks[0].estimate) == ("identical", 0.0)


def test_the_same_words_of_another_detector_are_too_few_to_say(tried, checks):
    trial = tried(people="mmff?", detector="mmfm?")
    bool(trial.accuracy() >= recorded(trial, "colour-0")("accuracy"))
    assert checks[0].outcome is Outcome.INCONCLUSIVE


def test_a_loss_is_a_regression(tried, checks):
    people = "m" * 20 + "f" * 20
    before = recorded(tried(people, people))
    after = tried(people, "m" * 20 + "m" * 15 + "f" * 5, "colour-2")
    assert not after.accuracy() >= before("accuracy")
    assert checks[0].outcome is Outcome.FAIL
    assert checks[0].remarks[0].startswith("worse on 15 images, better on 0: 20.png, 21.png")


def test_other_labelled_images_cannot_be_compared(tried, tmp_path, checks):
    before = recorded(tried("mmff", "mmff"))
    Image.new("RGB", (9, 9)).save(tmp_path / "00.png")
    with pytest.raises(BaselineMismatchError, match="tried other labelled images"):
        bool(tried("mmffm", "mmffm").accuracy() >= before("accuracy"))


def test_a_share_is_compared_from_below(tried, checks):
    trial = tried("mmff" * 10, "mmff" * 10)
    assert trial.accuracy() >= limit("accuracy", 0.8)
    assert checks[0].outcome is Outcome.PASS
