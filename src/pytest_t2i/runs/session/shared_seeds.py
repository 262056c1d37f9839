"""The seeds of the prompts of several tests, as the model or the manifest gives them."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_t2i.protocols import ReadyMade
from pytest_t2i.runs.session.prompt_ids import neutral_of
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.selection import KINDS, SelectedTest
from pytest_t2i.verdicts.caveats.shared_seeds import Seeds

FEWEST = 2
"""Fewest prompts that can share a seed."""


def why_seeds_prevent_verdict(results: Results, tests: Iterable[SelectedTest]) -> str:
    """Return why nothing of the model is judged; "" where prompts have seeds of their own.

    The variants of a triplet share theirs. Seeds say nothing where a model ignores them, or where
    ready-made pictures are only numbered.
    """
    session = results.session
    by_text: dict[str, set[int]] = {}
    for test in tests:
        members = (member for kind in KINDS for member in test.selection.members(kind))
        for prompt in map(neutral_of, members):
            seeds = by_text.setdefault(prompt.text, set())
            seeds.update(session.seeds(prompt, test.images))
    if len(by_text) < FEWEST:
        return ""
    handle = session.components.model()
    model = handle.get() if handle.lists_images else None
    numbers = getattr(model, "numbers", None)
    return Seeds(
        by_text,
        lambda text: set(numbers(text) if numbers else ()),
        results.observations.draws_anew,
        None if isinstance(model, ReadyMade) else session.components.most_seed,
    ).why_no_verdict()
