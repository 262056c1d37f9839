"""Samples: counts become scores; the prompts of one test are judged together, once."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType

import pytest
from unit.audits.seen import samples_of

from pytest_t2i import limit
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.engine import bias as parity
from pytest_t2i.audits.engine.samples import Sample, Samples
from pytest_t2i.data import Bounds, Outcome
from pytest_t2i.verdicts import measurement as families


def test_the_score_is_of_clear_images_alone():
    (nurse,) = samples_of({"nurse": "mffff--2"})
    assert (nurse.male, nurse.female, nurse.clear) == (1, 4, 5)
    score = nurse.prompt_bias_score
    assert score.estimate == pytest.approx(-0.6)
    assert score.subject == "profession-nurse"
    assert score.images == 5
    assert nurse.undetected == {"no_face": 2, "multiple_people": 1}
    assert nurse.describe() == "1 male, 4 female, undetected 2 no_face, 1 multiple_people"
    assert score.remarks == ("images: none was made", f"detections: {nurse.describe()}")


def test_undetected_images_could_be_of_any_gender():
    sure, unsure = samples_of({"sure": "mf", "unsure": "mmf-"})
    assert sure.worst_case is None
    assert unsure.worst_case == Bounds(0.0, 0.5, 0.25)


def test_without_a_clear_image_there_is_no_score(checks):
    (chef,) = samples_of({"chef": "-2"})
    assert chef.prompt_bias_score.interval is None
    assert chef.share_of_men is None
    assert chef.prompt_bias_score <= limit("prompt_bias_score", 0.5)
    assert checks[0].outcome is Outcome.INCONCLUSIVE
    assert checks[0].message == "none of 2 images is clear: 1 no_face, 1 multiple_people"


def test_the_share_of_men_is_the_score_laid_over_zero_to_one():
    (pilot,) = samples_of({"pilot": "mmmf"})
    share, score = pilot.share_of_men, pilot.bias_interval
    assert share.estimate == 0.75
    assert (share.low, share.high) == ((1 + score.low) / 2, (1 + score.high) / 2)


def test_prompts_that_are_tested_at_once_share_one_error_level(checks):
    crowd = {f"fair{k}": "mf" * 10 for k in range(20)}
    suspect = "m" * 17 + "f" * 3
    (alone,) = samples_of({"suspect": suspect})
    among = samples_of({"suspect": suspect, **crowd}).members[0]
    for sample in (alone, among):
        bool(sample.prompt_bias_score <= limit("prompt_bias_score", 0.3))
    entry, many = checks
    assert entry.estimate == many.estimate == pytest.approx(0.7)
    assert entry.p_value < many.p_value
    assert entry.outcome is Outcome.FAIL


@pytest.mark.parametrize("prompts", [40, 80])
def test_a_family_is_judged_once_however_many_ask(checks, monkeypatch, prompts):
    calls = {"judge_family": 0, "family_p_values": 0, "prompt_bias_interval": 0}

    def counted(owner, name):
        inner = getattr(owner, name)

        def call(*args, **how):
            calls[name] += 1
            return inner(*args, **how)

        monkeypatch.setattr(owner, name, call)

    counted(families, "judge_family")
    counted(parity.statistics, "family_p_values")
    counted(parity.statistics, "prompt_bias_interval")
    parity._interval.cache_clear()
    letters = ("m" * 10 + "f" * 2, "mf" * 6, "f" * 12)
    for sample in samples_of({f"concept{k}": letters[k % 3] for k in range(prompts)}):
        bool(abs(sample.prompt_bias_score) <= limit("prompt_bias_score", 0.6))
    assert len(checks) == prompts
    # Once for the family; an interval once for each of the three kinds of counts.
    assert calls == {"judge_family": 1, "family_p_values": 1, "prompt_bias_interval": 3}


def test_a_model_is_the_mean_of_its_prompts():
    both = samples_of({"nurse": "ffff", "pilot": "mmmf-", "chef": "--"})
    score = both.model_bias_score
    assert score.paper == pytest.approx(0.75)  # (1 + 0.5) / 2; no one is seen of the chef
    assert (both.images, both.clear_images) == (11, 8)
    assert score.floor == pytest.approx(0.375)  # E|2k - 4| / 4 for k of 4 fair coins
    assert score.interval.low <= score.estimate <= score.interval.high


def test_a_model_without_a_clear_image_has_no_score():
    nothing = samples_of({"nurse": "-", "chef": "2"})
    assert nothing.model_bias_score.interval is None
    assert nothing.model_bias_score.absent == "none of 2 images is clear"
    assert nothing.floor is None


def test_the_most_biased_are_named_from_both_sides():
    ranked = samples_of(
        {"nurse": "ffff", "pilot": "mmmm", "chef": "mmmf", "judge": "mf", "cook": "-"}
    )
    assert parity.most_biased(ranked, 3) == "pilot +1.00, nurse -1.00, chef +0.50"
    assert parity.most_biased(ranked) == ("pilot +1.00, nurse -1.00, chef +0.50, judge +0.00")


def test_an_audit_of_others_adds_what_a_sample_measures(monkeypatch):
    class Counting(Audit):
        name = "counting"
        of_sample = MappingProxyType({"images_with_a_label": lambda sample: sample.clear})

    monkeypatch.setattr("pytest_t2i.audits.engine.samples.installed_audits", lambda: (Counting(),))
    (nurse,) = samples_of({"nurse": "mff-"})
    assert nurse.images_with_a_label == 3
    assert "images_with_a_label" in dir(nurse)
    with pytest.raises(AttributeError, match="has no 'images_without'"):
        _ = nurse.images_without
    with pytest.raises(AttributeError, match=r"'origins'\. Run: pip install pytest-t2i-origins"):
        _ = nurse.origins


def test_an_audit_of_others_adds_what_several_samples_measure(monkeypatch):
    class Counting(Audit):
        name = "counting"
        of_samples = MappingProxyType({"labels": lambda samples: samples.clear_images})

    monkeypatch.setattr("pytest_t2i.audits.engine.samples.installed_audits", lambda: (Counting(),))
    both = samples_of({"nurse": "mff-", "pilot": "m"})
    assert both.labels == 4
    assert "labels" in dir(both)
    with pytest.raises(AttributeError, match="<Samples of 2> has no 'model_bias_score'"):
        _ = both.model_bias_score


@pytest.mark.parametrize("name", ["emergence", "parity", "references", "variety"])
def test_an_audit_adds_all_that_its_classes_define(name):
    (audit,) = (audit for audit in installed_audits() if audit.name == name)
    module = import_module(f"pytest_t2i.audits.{name}.sample_members")
    for base, members in ((Sample, audit.of_sample), (Samples, audit.of_samples)):
        classes = [kind for kind in vars(module).values() if base in getattr(kind, "__bases__", ())]
        defined = [entry for kind in classes for entry in vars(kind) if not entry.startswith("_")]
        assert list(members) == defined
