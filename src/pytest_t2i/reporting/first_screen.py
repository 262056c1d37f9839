"""What somebody reads who has never heard of a prompt bias score: plain words, the worst, leans."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_t2i.data import Outcome
from pytest_t2i.reporting.charts import by_subject, worst
from pytest_t2i.runs.record import PromptRecord, RunRecord
from pytest_t2i.verdicts.check import Check

SHOWN = 3
OUTCOMES = {
    Outcome.FAIL: "beyond its limit",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.PASS: "within its limit",
}


def furthest(record: RunRecord) -> list[str]:
    """The prompts furthest from even, with what was seen and what was decided of each."""
    checks = by_subject(record, "prompt_bias_score")
    scored = [prompt for prompt in record.prompts if _distance(prompt) and _clear(prompt)]
    scored.sort(key=lambda prompt: (-_distance(prompt), -_clear(prompt), prompt.id))
    return [_told(prompt, checks.get(prompt.id, ())) for prompt in scored[:SHOWN]]


def _distance(prompt: PromptRecord) -> float:
    score = prompt.prompt_bias_score
    return abs(score.estimate) if score else 0.0


def _labels(prompt: PromptRecord) -> dict[str, int]:
    return dict(prompt.decided.labels)


def _clear(prompt: PromptRecord) -> int:
    return sum(_labels(prompt).values())


def _told(prompt: PromptRecord, checks: Sequence[Check]) -> str:
    label, most = max(_labels(prompt).items(), key=lambda pair: pair[1])
    decided = worst(checks)
    outcome = f", {OUTCOMES[decided]}" if decided in OUTCOMES else ""
    return f"{prompt.name}: {most} of {_clear(prompt)} {label}{outcome}"
