"""The first screen's list of the most uneven prompts, in words that need no knowledge of scores."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_t2i.data import Outcome
from pytest_t2i.reporting.formatting import counted_beside, signed, tells_others
from pytest_t2i.runs.record import PromptRecord, RunRecord
from pytest_t2i.sections.blocks import worst
from pytest_t2i.verdicts.check import Check

SHOWN = 3
OUTCOMES = {
    Outcome.FAIL: "beyond its limit",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.PASS: "within its limit",
}


def furthest(record: RunRecord) -> list[str]:
    """List the prompts furthest from even, each with its counts and verdict, in words."""
    others = tells_others(record)
    checks = record.checks_of("group_distance" if others else "prompt_bias_score")
    known = {label for prompt in record.prompts for label in _labels(prompt)}
    far = {p.id: _group_distance(p, len(known)) if others else _distance(p) for p in record.prompts}
    scored = [prompt for prompt in record.prompts if far[prompt.id] and _clear(prompt)]
    scored.sort(key=lambda prompt: (-far[prompt.id], -_clear(prompt), prompt.id))
    return [_line(prompt, checks.get(prompt.id, ())) for prompt in scored[:SHOWN]]


def _group_distance(prompt: PromptRecord, groups: int) -> float:
    """Return half the L1 distance of the labels' shares from even shares of ``groups`` groups."""
    labels, images = _labels(prompt), _clear(prompt)
    if not images:
        return 0.0
    absent = groups - len(labels)
    seen = sum(abs(count / images - 1.0 / groups) for count in labels.values())
    return round((seen + absent / groups) / 2.0, 12)


def _distance(prompt: PromptRecord) -> float:
    score = prompt.prompt_bias_score
    return abs(score.estimate) if score else 0.0


def _labels(prompt: PromptRecord) -> dict[str, int]:
    return dict(prompt.decided.labels)


def _clear(prompt: PromptRecord) -> int:
    return sum(_labels(prompt).values())


def _line(prompt: PromptRecord, checks: Sequence[Check]) -> str:
    label, most = max(_labels(prompt).items(), key=lambda pair: pair[1])
    decided = worst(checks)
    outcome = f", {OUTCOMES[decided]}" if decided in OUTCOMES else ""
    if prompt.uncorrected is not None and prompt.prompt_bias_score is not None:
        score = signed(prompt.prompt_bias_score.estimate)
        return f"{prompt.name}: {score} {counted_beside(prompt)}{outcome}"
    return f"{prompt.name}: {most} of {_clear(prompt)} {label}{outcome}"
