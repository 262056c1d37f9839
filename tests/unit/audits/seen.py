"""Detections that stand in for a store: what an audit reads."""

from __future__ import annotations

from types import SimpleNamespace

from pytest_t2i.audits.detected import Siblings
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.data import Detection, Prompt, Undetected
from pytest_t2i.generation.plan import DetectorRef

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


def samples_of(said: dict[str, str], *, level: float = 0.95, model: str = "model-1") -> Samples:
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
