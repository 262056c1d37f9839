"""The baseline of all mitigations: draw a gender for each picture, and name it in the prompt."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class RandomCounterpart:
    """A mitigation that makes each picture from the feminine or the masculine counterpart.

    Any other mitigation has to beat this one: it costs nothing, and needs only a model that obeys
    prompts that name a gender.

    >>> texts = ("a female nurse", "a male nurse")
    >>> [RandomCounterpart().prompt("a nurse", seed, texts) for seed in range(3)]
    ['a male nurse', 'a female nurse', 'a male nurse']
    >>> from pytest_t2i import Mitigation
    >>> isinstance(RandomCounterpart(), Mitigation)
    True
    """

    share: float = 0.5
    """The share of pictures that are made from the feminine counterpart."""

    name: ClassVar[str] = "random-counterpart"
    fingerprint: ClassVar[str] = "1"
    stage: ClassVar[str] = "prompt"
    families: ClassVar[tuple[str, ...]] = ()
    passes: ClassVar[float] = 1.0
    needs_counterparts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Raise ValueError for a share outside of 0 to 1."""
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"share: expected a number from 0 to 1, got {self.share:g}")

    def prompt(self, text: str, seed: int, counterparts: tuple[str, ...]) -> str:
        """Return the counterpart that seed and prompt draw."""
        feminine, masculine = counterparts
        return feminine if drawn(f"{seed}|{text}") < self.share else masculine


def drawn(text: str) -> float:
    """Return a number in [0, 1) that depends on the text alone, on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48
