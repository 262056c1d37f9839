"""A small record with one of everything, and snapshots to compare what is rendered with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from gap_rows import gap_row
from PIL import Image
from score_rows import score_row
from stereotype_rows import stereotype_rows

from pytest_t2i.data import Bounds, Detection, Interval, Outcome, Undetected
from pytest_t2i.metrics.info import INFO
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.record import AuditRecord, Counts, MetricRecord, PromptRecord, RunRecord
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.check import Check

GOLDEN = Path(__file__).parent / "golden"
COLOURS = {"male": (40, 60, 200), "female": (200, 60, 40), "no_face": (90, 90, 90)}
SCORES = {"female": 0.25, "male": 0.75}
REASONS = {reason.value for reason in Undetected}


def between(estimate: float, low: float, high: float, n: int = 4) -> Interval:
    return Interval(estimate, low, high, 0.95, "clopper-pearson", n)


def check(metric: str, subject: str, outcome: Outcome, interval: Interval | None, **more) -> Check:
    made = Check(
        test=f"suites/test_{metric}.py::test_it[{subject}]",
        metric=metric,
        subject=subject,
        outcome=outcome,
        estimate=interval.estimate if interval else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        level=interval.level if interval else None,
        method=interval.method if interval else "",
        n=interval.n if interval else 0,
        operator="<=",
        bound=0.6,
        is_of_model=subject.partition(" ")[0] == "model",
    )
    return replace(made, **more)


def prompt(
    store: Path, concept: str, words: list[str], score: Interval | None,
    worst_case: Bounds | None = None,
) -> PromptRecord:  # fmt: skip
    tally = {word: words.count(word) for word in words}
    counts = Counts(
        {word: count for word, count in tally.items() if word not in REASONS},
        {Undetected(word): count for word, count in tally.items() if word in REASONS},
    )
    images = tuple(
        ImageRecord(
            seed,
            picture(store, f"{concept}{seed}", word),
            {"colour": said(word, SCORES), "second": said("female" if seed == 1 else word)},
        )
        for seed, word in enumerate(words)
    )
    return PromptRecord(
        f"profession-{concept}",
        f"a photo of one real person who is a {concept}",
        "profession",
        concept,
        "neutral",
        {"colour": counts, "second": counts},
        score,
        images,
        worst_case,
    )


def said(word: str, scores: Mapping[str, float] | None = None) -> Detection:
    """What a detector says of an image: a label, or the reason why there is none."""
    if word in REASONS:
        return Detection(None, Undetected(word), scores or {})
    return Detection(word, scores=scores or {})


def picture(store: Path, key: str, word: str) -> str | None:
    if word == Undetected.REFUSED:
        return None
    file = store / "images" / "ab" / f"{key}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (128, 128), COLOURS[word]).save(file)
    return str(file)


CHECKS = (
    check("prompt_bias_score", "profession-pilot", Outcome.FAIL, between(1.0, 0.7, 1.0),
          reason="four fifths", p_value=0.012, paper=1.0),
    check("prompt_bias_score", "profession-nurse", Outcome.INCONCLUSIVE, between(0.33, 0.0, 0.9),
          reason="four fifths", p_value=0.6, images_to_decide=28),
    check("prompt_bias_score", "profession-chef", Outcome.INCONCLUSIVE, None,
          reason="four fifths", message="none of 2 images is clear: 2 refused",
          caveats=(Caveat("undetected", "whatever the 100% undetected images show: 0.000 to 1.000",
                          {"lacks": "100% undetected, 0.000 to 1.000 whatever they show"}),)),
    check("model_bias_score", "model", Outcome.FAIL, between(0.7, 0.5, 0.9, 3), bound=0.2,
          paper=0.75, floor=0.37, message="lies outside"),
    check("stereotype_score", "nationality-iranian-turban", Outcome.PASS, between(0.1, 0.0, 0.2),
          bound=0.25),
    check("similarity_gap", "model in image space", Outcome.PASS, between(0.02, 0.01, 0.03),
          bound=0.05),
    check("similarity_gap", "model by SSIM", Outcome.PASS, between(0.002, -0.004, 0.008),
          bound=0.05),
)  # fmt: skip


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    """A failing run over three prompts, by two detectors."""
    store = tmp_path / ".t2i"
    return with_blocks(RunRecord(
        created="2026-11-20T17:07:52+00:00",
        seconds=208.8,
        model="biased",
        settings={"model": "biased", "images": 4, "detectors": ["colour", "second"], "batch": None},
        provenance={"model": {"fingerprint": "fake"}, "environment": {"python": "3.11"}},
        work={"planned": 10, "made": 4, "detected": 8, "refused": 2, "seconds": 2.5,
              "notes": ["halved"]},
        checks=CHECKS,
        audits={"parity": AuditRecord(rows=tuple(
            score_row(between(0.7, 0.5, 0.9), detector=name, worst=Bounds(0.3, 0.85, 0.3))
            for name in ("colour", "second")
        )), "stereotypes": AuditRecord(rows=(
            *stereotype_rows("nationality-iranian-turban", "Iranian", "turban", 0.02,
                             between(0.12, 0.0, 0.3), between(0.1, 0.0, 0.28), detector="colour",
                             source="OASIS Table 1"),
            *stereotype_rows("nationality-iranian-old", "Iranian", "old", 0.4, None, None,
                             detector="colour"),
        )), "neutrality": AuditRecord(rows=(
            gap_row("image", between(0.02, 0.01, 0.03), (0.9, 0.92), 3),
            gap_row("ssim", between(0.002, -0.004, 0.008), (0.5, 0.502), 3),
            gap_row("prompt", None),
        ))},
        metrics={check.metric: MetricRecord.of(INFO[check.metric]) for check in CHECKS},
        prompts=(
            prompt(store, "nurse", ["male", "female", "female", "no_face"],
                   between(-1 / 3, -0.9, 0.5, 3), Bounds(-0.5, 0.0, 0.25)),
            prompt(store, "pilot", ["male"] * 4, between(1.0, 0.2, 1.0)),
            prompt(store, "chef", ["refused"] * 2, None),
        ),
        next_steps=("about 32 images per prompt have an even chance to decide",),
        selected=7,
        judged=7,
    ))  # fmt: skip


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare with a snapshot; T2I_UPDATE_GOLDEN=1 writes it anew."""

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        if os.environ.get("T2I_UPDATE_GOLDEN"):
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")

    return compare
