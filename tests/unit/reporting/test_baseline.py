"""Which prompts grew is told as the tests of single prompts tell it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.reporting import baseline
from pytest_t2i.runs.record.record import BaselineRecord, BeforeRecord, RunRecord
from pytest_t2i.sections import Paragraph
from pytest_t2i.verdicts.check import Check

GREW = "The model became more biased."
MODEL = Check(
    "t.py::test_grown", "model_bias_score", "model", Outcome.FAIL, 0.5, 0.4, 0.6, 0.95,
    "fixed-words", 4, "<=", 0.0, is_of_model=True, against="baseline",
)  # fmt: skip
GYM = replace(
    MODEL, test="t.py::test_p[gym]", metric="prompt_bias_score", subject="place-gym",
    is_of_model=False,
)  # fmt: skip
CHEF = replace(GYM, subject="profession-chef", outcome=Outcome.INCONCLUSIVE)
PICTURES = {"place-gym": (BeforeRecord(0, "gone.png", "male"),)}


@pytest.mark.parametrize(
    ("checks", "told"),
    [
        ([MODEL, GYM, CHEF], f"{GREW} By tests of single prompts it did in place-gym."),
        ([MODEL, CHEF], f"{GREW} Tests of single prompts are certain of none."),
        ([MODEL], f"{GREW} No test compares single prompts with the baseline."),
        (
            [MODEL, replace(GYM, against="limit"), replace(CHEF, against="limit")],
            f"{GREW} No test compares single prompts with the baseline. "
            "Beyond a limit now: place-gym.",
        ),
        ([GYM, CHEF], "By tests of single prompts these became more biased: place-gym."),
    ],
)
def test_which_prompts_grew_is_what_their_tests_found(checks, told):
    recorded = BaselineRecord("b.json", "sdxl", "0123", "", 30, 0, False, pictures=PICTURES)
    record = RunRecord(
        "2026-11-22T18:55:00+00:00", 1.0, "mine", {}, {}, {}, tuple(checks), baseline=recorded
    )
    (section,) = baseline.baseline_sections(record)
    texts = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    assert texts == [f"{told} Here are those that grew most."]
