"""One model as one run, baseline or store saw it, to be compared with others."""

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
    """Seed -> label, or why there is none."""
    files: Mapping[int, str] = field(default_factory=dict)
    """Seed -> picture."""

    @property
    def male(self) -> int:
        """Images labelled male."""
        return sum(word == "male" for word in self.said.values())

    @property
    def female(self) -> int:
        """Images labelled female."""
        return sum(word == "female" for word in self.said.values())

    @property
    def labels(self) -> set[str]:
        """What the detector said of any image, reasons for no label left out."""
        return {str(word) for word in self.said.values() if not isinstance(word, Undetected)}

    def counts(self, groups: Sequence[str]) -> dict[str, int]:
        """Images per group, groups without any image included."""
        shown = Counter(self.said.values())
        return {group: shown[group] for group in groups}

    def signs(self, seeds: Sequence[int]) -> list[int]:
        """+1 male, -1 female, 0 undetected, for each of these seeds."""
        return [sign_of(self.said[seed]) for seed in seeds]


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A model as one run, baseline or store saw it."""

    name: str
    source: str
    """File or folder it was read from."""
    created: str
    """UTC, ISO 8601; "" where not known."""
    detector: str
    prompts: Mapping[str, PromptOfModel]
    """By text; of neutral prompts alone."""
    run: RunRecord | None = None
    """None for a baseline and a model of a store."""
    labels: tuple[str, ...] = ()
    """All that the detector may give; () where that is not recorded."""
