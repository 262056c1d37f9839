"""Samples of prompts whose detections are known, without a model, a detector or a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_t2i.audits.detected import Siblings
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.data import Detection, Limit, Prompt, Undetected
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.context import JudgingContext, running

WORDS = {"m": "male", "f": "female", "?": Undetected.NO_FACE, "2": Undetected.MULTIPLE_PEOPLE}
COLOUR = DetectorRef("colour")


def said(letter: str) -> Detection:
    """``m`` male, ``f`` female, ``?`` no face, ``2`` several people."""
    word = WORDS[letter]
    return Detection(None, word) if isinstance(word, Undetected) else Detection(word)


@dataclass
class Known:
    """What is known of a run's images: a letter per image of each prompt, by text."""

    letters: Mapping[str, str]
    model_fingerprint: str = "model-1"

    def detections(
        self, prompt: Prompt, seeds: tuple[int, ...], ref: DetectorRef
    ) -> list[Detection]:
        return [said(letter) for letter in self.letters[prompt.text]]

    def labels(self, ref: DetectorRef) -> tuple[str, ...]:
        return ("male", "female")

    def images(self, prompt: Prompt, seeds: tuple[int, ...]) -> list[Any]:
        return [
            _Image(Path(f"{prompt.concept}-{seed}.png"), f"{prompt.concept} {seed}")
            for seed in seeds
        ]


@dataclass(frozen=True)
class _Image:
    file: Path
    sha256: str


@pytest.fixture
def together() -> Callable[..., list[Sample]]:
    """Samples of one test function: together(nurse="mmf?", pilot="mmmm")."""

    def make(model: str = "model-1", **letters: str) -> list[Sample]:
        prompts = {concept: Prompt(f"a {concept}", "profession", concept) for concept in letters}
        known: Any = Known({prompts[c].text: its for c, its in letters.items()}, model)
        siblings: Siblings[Any] = Siblings([], [prompt.id for prompt in prompts.values()])
        members = [
            Sample(prompt, tuple(range(len(letters[concept]))), COLOUR, known, 0.95)
            for concept, prompt in prompts.items()
        ]
        siblings.members = [replace(member, siblings=siblings) for member in members]
        return list(siblings.members)

    return make


@pytest.fixture
def samples(together: Callable[..., list[Sample]]) -> Callable[..., Samples]:
    """The same as one: samples(nurse="mmf?", pilot="mmmm")."""

    def make(model: str = "model-1", **letters: str) -> Samples:
        return Samples(tuple(together(model, **letters)), level=0.95, seed=0)

    return make


@pytest.fixture
def checks() -> Iterator[list[Check]]:
    """A running test, and the checks that it makes."""
    recorded: list[Check] = []
    limits: dict[str, Limit] = {}
    policies = ("pass", "status")
    context = JudgingContext("test", limits, None, policies, 0.95, recorded.append)
    token = running.set(context)
    yield recorded
    running.reset(token)
