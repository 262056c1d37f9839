"""The stored pictures of the baseline's model, for reports that show them beside today's."""

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
"""Largest number of pictures per prompt."""
PROMPTS = 6
"""Largest number of prompts per audit that the report shows side by side."""


def pictures_before(results: Results, recorded: Baseline) -> Mapping[str, tuple[BeforeRecord, ...]]:
    """Return the stored pictures of prompts that probably became more biased, by prompt id.

    These prompts are the moved ones that checks name, else those that the audits name, and the
    prompts whose own test failed. The mapping is empty if the baseline has other generation
    settings or a mitigation.
    """
    session = results.session
    differs = recorded.conditions.get("generation") != asdict(session.generation)
    if differs or "mitigation" in recorded.conditions:
        return {}
    moved = {prompt.id for check in session.checks for prompt in check.moved}
    moved = (moved or _moved_by_audits(results, recorded)) | _failed(session.checks)
    pictures_of = {
        prompt.id: _pictures(session, recorded.model_fingerprint, text, prompt)
        for text, prompt in recorded.prompts.items()
        if prompt.id in moved
    }
    return {prompt: pictures for prompt, pictures in pictures_of.items() if pictures}


def _failed(checks: Sequence[Check]) -> set[str]:
    """Return the ids of the prompts whose own test against the baseline failed."""
    compared = (c for c in checks if c.against == "baseline" and not c.is_of_model)
    return {check.subject for check in compared if check.outcome is Outcome.FAIL}


def _moved_by_audits(results: Results, recorded: Baseline) -> set[str]:
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
