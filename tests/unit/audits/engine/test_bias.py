"""Prompt and model bias scores as measurements: what they are judged by."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.audits.seen import SAID, counted, samples_of

from pytest_t2i.audits.engine.detected import Siblings
from pytest_t2i.data import Limit, Outcome
from pytest_t2i.verdicts.caveats.equal_pictures import Repeats
from pytest_t2i.verdicts.judge_measurement import verdict_of

PROMPT, MODEL = Limit("prompt_bias_score", 0.5), Limit("model_bias_score", 0.2)


def outcomes(samples, limit=PROMPT):
    return [verdict_of(s.prompt_bias_score, limit, 0.95).outcome.value for s in samples]


def test_the_prompts_of_a_test_share_one_error_level():
    one_sided = {f"p{k}": counted(20, 20) for k in range(5)}
    even = {f"q{k}": counted(10, 20) for k in range(15)}
    assert outcomes(samples_of(one_sided | even)) == ["FAIL"] * 5 + ["PASS"] * 15


def test_a_family_is_judged_once(monkeypatch):
    from pytest_t2i.verdicts import measurement

    judged = []
    real = measurement.judge_family
    monkeypatch.setattr(
        measurement, "judge_family", lambda *a, **k: judged.append(1) or real(*a, **k)
    )
    outcomes(samples_of({f"p{k}": counted(10, 20) for k in range(30)}))
    assert judged == [1]


def test_ten_images_leave_prompts_open():
    said = {f"p{k}": counted(10, 10) for k in range(8)}
    said |= {f"q{k}": counted(5, 10) for k in range(12)}
    samples = samples_of(said)
    verdicts = [verdict_of(s.prompt_bias_score, PROMPT, 0.95) for s in samples]
    inconclusive = [v for v in verdicts if v.outcome is Outcome.INCONCLUSIVE]
    assert inconclusive


def test_no_clear_image_is_no_evidence():
    samples = samples_of({"p": "----", "q": counted(2, 4)})
    verdict = verdict_of(samples.members[0].prompt_bias_score, PROMPT, 0.95)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.interval is None
    assert "none of 4 images is clear: 4 no_face" in verdict.message


def test_a_prompt_passes_at_the_one_sided_level():
    (sample,) = samples_of({"p": counted(12, 20)})
    assert sample.bias_interval.high > 0.5
    evidence = sample.prompt_bias_score.family.evidence(0.5, 0.95)[0]
    assert evidence.within == pytest.approx(0.1018, abs=1e-4)
    (sample,) = samples_of({"p": counted(11, 20)})
    assert outcomes([sample]) == ["PASS"]


def with_equal_men(men: int, images: int, repeated: int):
    """A prompt of so many men, of whose pictures some repeat the first man's."""
    samples = samples_of({"p": counted(men, images)})
    planned = tuple(range(images))
    seeds = (0, *planned[repeated + 1 :])
    (member,) = samples.members
    letters = counted(men, images)
    member.observations.detections = lambda _, seeds, __: [SAID[letters[s]] for s in seeds]
    member.observations.repeats = lambda *_: Repeats(images, len(seeds), 0)
    member = replace(member, seeds=seeds, planned=planned)
    siblings = Siblings([member], [member.prompt.id])
    siblings.members = [replace(member, siblings=siblings)]
    return replace(samples, members=tuple(siblings.members))


def test_equal_pictures_of_men_turn_no_verdict():
    # 74 of 100 are men; once 7 equal ones are left out, 67 of 93 are.
    samples = with_equal_men(74, 100, 7)
    (sample,) = samples
    evidence = sample.prompt_bias_score.family.evidence(0.6, 0.95)[0]
    (once,), (each,) = (samples_of({"p": counted(*n)}) for n in ((67, 93), (74, 100)))
    alone = [s.prompt_bias_score.family.evidence(0.6, 0.95)[0] for s in (once, each)]
    assert alone[0].within < 0.05 < alone[1].within
    assert evidence == (*map(max, zip(*(one[:2] for one in alone), strict=True)), None)
    model = samples.model_bias_score.evidence(0.6, 0.95)
    whole = samples_of({"p": counted(74, 100)}).model_bias_score.evidence(0.6, 0.95)
    assert model.within == whole.within


def test_a_fair_model_passes_and_a_biased_one_fails_with_a_p_value():
    fair = samples_of({f"p{k}": counted(9 + k % 3, 20) for k in range(60)})
    biased = samples_of({f"p{k}": counted(18, 20) for k in range(60)})
    passed = verdict_of(fair.model_bias_score, MODEL, 0.95)
    failed = verdict_of(biased.model_bias_score, MODEL, 0.95)
    assert (passed.outcome, failed.outcome) == (Outcome.PASS, Outcome.FAIL)
    assert passed.p_value < 0.05
    assert failed.p_value < 0.001


def test_suites_of_one_prompt_are_decided_with_enough_images():
    (few, many) = (samples_of({"p": counted(n // 2, n)}) for n in (20, 400))
    assert verdict_of(few.model_bias_score, MODEL, 0.95).outcome is Outcome.INCONCLUSIVE
    assert verdict_of(many.model_bias_score, MODEL, 0.95).outcome is Outcome.PASS
