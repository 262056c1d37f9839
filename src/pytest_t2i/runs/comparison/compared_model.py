"""One model of a comparison, with its prompts from a run, a baseline or a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_t2i.data import Undetected, sign_of
from pytest_t2i.runs.record import RunRecord


@dataclass(frozen=True, slots=True)
class PromptOfModel:
    """One prompt of a compared model."""

    id: str
    axis: str
    concept: str
    said: Mapping[int, str | Undetected]
    """Seed -> label, or the reason why there is none."""
    files: Mapping[int, str] = field(default_factory=dict)
    """Seed -> path of the picture."""

    @property
    def male(self) -> int:
        """The number of images labelled male."""
        return sum(word == "male" for word in self.said.values())

    @property
    def female(self) -> int:
        """The number of images labelled female."""
        return sum(word == "female" for word in self.said.values())

    @property
    def labels(self) -> set[str]:
        """The labels of all images; undetected images are left out."""
        return {str(word) for word in self.said.values() if not isinstance(word, Undetected)}

    def counts(self, groups: Sequence[str]) -> dict[str, int]:
        """Return the number of images per group, groups without any image included."""
        shown = Counter(self.said.values())
        return {group: shown[group] for group in groups}

    def signs(self, seeds: Sequence[int]) -> list[int]:
        """Return +1 for male, -1 for female and 0 for any other image, for each of these seeds."""
        return [sign_of(self.said[seed]) for seed in seeds]


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A model of a comparison, read from a run, a baseline or a store."""

    name: str
    source: str
    """File or folder from which the model was read."""
    created: str
    """Time of the run: UTC, ISO 8601; "" if unknown."""
    detector: str
    prompts: Mapping[str, PromptOfModel]
    """Neutral prompts by text."""
    run: RunRecord | None = None
    """Record of the run; None for a baseline or a model of a store."""
    labels: tuple[str, ...] = ()
    """All labels of the detector; () if they are not recorded."""
