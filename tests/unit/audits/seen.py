"""Detections that stand in for a store: what an audit reads."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from pytest_t2i.audits.engine.detected import Siblings
from pytest_t2i.audits.engine.samples import Sample, Samples
from pytest_t2i.data import Detection, Prompt, Undetected
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt

SAID = {
    "m": Detection("male"),
    "f": Detection("female"),
    "-": Detection(None, Undetected.NO_FACE),
    "2": Detection(None, Undetected.MULTIPLE_PEOPLE),
}


class Seen:
    """What a detector said, by prompt text: "mmf-2"."""

    def __init__(self, said: dict[str, str], model: str = "model-1") -> None:
        self.said, self.model_fingerprint = said, model

    def detections(self, prompt, seeds, ref):
        return [SAID[letter] for letter in self.said[prompt.text][: len(seeds)]]

    def images(self, prompt, seeds):
        return [SimpleNamespace(file=None, sha256=f"{prompt.text} {seed}") for seed in seeds]

    def draws_anew(self, *models):
        return False

    def labels(self, ref):
        return ("male", "female")


def samples_of(said: dict[str, str], *, level: float = 0.9, model: str = "model-1") -> Samples:
    """The samples of these prompts, as a fixture gives them."""
    seen = Seen(said, model)
    members = [
        Sample(
            Prompt(text, "profession", text), tuple(range(len(letters))), DetectorRef("fake"), seen,
            level,
        )
        for text, letters in said.items()
    ]  # fmt: skip
    siblings = Siblings(members, [sample.prompt.id for sample in members])
    members = [Sample(s.prompt, s.seeds, s.ref, seen, level, siblings=siblings) for s in members]
    siblings.members = members
    return Samples(tuple(members), level, 0)


def counted(men: int, images: int) -> str:
    """So many men among so many images."""
    return "m" * men + "f" * (images - men)


AGES = {"y": "young", "a": "adult", "o": "old"}


class SeenAges(Seen):
    """Letters of ages."""

    def detections(self, prompt, seeds, ref):
        return [
            Detection(AGES[letter]) if letter in AGES else Detection(None, Undetected.NO_FACE)
            for letter in self.said[prompt.text][: len(seeds)]
        ]

    def labels(self, ref):
        return tuple(AGES.values())


def aged(said, model="model-1", **more):
    seen = SeenAges(said, model)
    members = [
        Sample(
            Prompt(text, "job", text),
            tuple(range(len(said[text]))),
            DetectorRef("ages"),
            seen,
            0.95,
        )
        for text in said
    ]
    siblings = Siblings([], [sample.prompt.id for sample in members])
    members = [replace(sample, siblings=siblings) for sample in members]
    siblings.members = members
    return Samples(tuple(members), 0.95, 0, **more)


def recorded(said, model="model-1"):
    """A baseline of these letters."""
    words = {
        letter: AGES.get(letter, Undetected.NO_FACE) for text in said.values() for letter in text
    }
    prompts = {
        text: RecordedPrompt(
            f"job-{text}", tuple(range(len(letters))), tuple(words[letter] for letter in letters)
        )
        for text, letters in said.items()
    }
    return Baseline("old", model, {}, {}, prompts)
