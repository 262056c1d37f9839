"""Pictures of the baseline's model beside those of now, where the store still has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from pytest_t2i.data import Outcome, Request
from pytest_t2i.runs.record import BeforeRecord
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.session import Session
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt
from pytest_t2i.verdicts.check import Check

SHOWN = 8
"""Pictures of each prompt."""
PROMPTS = 6
"""Whose pictures of then and now are laid side by side."""


def pictures_before(results: Results, recorded: Baseline) -> Mapping[str, tuple[BeforeRecord, ...]]:
    """By prompt, those of what probably moved; {} where settings are others now.

    Of a baseline that was made under a mitigation none are looked up.

    Where no prompt is probable, those that explain the failure of the model. Those whose own test
    failed, too.
    """
    session = results.session
    is_otherwise = recorded.conditions.get("generation") != asdict(session.generation)
    if is_otherwise or "mitigation" in recorded.conditions:
        return {}
    moved = {prompt.id for check in session.checks for prompt in check.moved}
    moved = (moved or _grown(results, recorded)) | _failed(session.checks)
    pictures_of = {
        prompt.id: _pictures(session, recorded.model_fingerprint, text, prompt)
        for text, prompt in recorded.prompts.items()
        if prompt.id in moved
    }
    return {prompt: pictures for prompt, pictures in pictures_of.items() if pictures}


def _failed(checks: Sequence[Check]) -> set[str]:
    """Prompts that a test of their own found to be worse than recorded."""
    compared = (c for c in checks if c.against == "baseline" and not c.is_of_model)
    return {check.subject for check in compared if check.outcome is Outcome.FAIL}


def _grown(results: Results, recorded: Baseline) -> set[str]:
    texts = [text for audit in results.session.audits for text in audit.moved(results, recorded)]
    return {recorded.prompts[text].id for text in texts[:PROMPTS]}


def _pictures(
    session: Session, fingerprint: str, text: str, prompt: RecordedPrompt
) -> tuple[BeforeRecord, ...]:
    said = dict(zip(prompt.seeds[:SHOWN], prompt.said, strict=False))
    keys = {Request(text, seed, session.generation).key(fingerprint): seed for seed in said}
    stored = session.store.images(list(keys))
    return tuple(
        BeforeRecord(seed, str(stored[key].file), str(said[seed]))
        for key, seed in keys.items()
        if key in stored and stored[key].file is not None
    )
