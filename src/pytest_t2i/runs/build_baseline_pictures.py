"""Pictures of the baseline's model beside those of now, where the store still has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from pytest_t2i.data import Request
from pytest_t2i.runs.record import BeforeRecord
from pytest_t2i.runs.session import Session
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt

SHOWN = 8
"""Pictures of each prompt."""


def pictures_before(session: Session, recorded: Baseline) -> Mapping[str, tuple[BeforeRecord, ...]]:
    """By prompt, those of what probably became more biased; {} where settings are others now."""
    if recorded.conditions.get("generation") != asdict(session.generation):
        return {}
    moved = {prompt.id for check in session.checks for prompt in check.moved}
    pictures_of = {
        prompt.id: _pictures(session, recorded.model_fingerprint, text, prompt)
        for text, prompt in recorded.prompts.items()
        if prompt.id in moved
    }
    return {prompt: pictures for prompt, pictures in pictures_of.items() if pictures}


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
