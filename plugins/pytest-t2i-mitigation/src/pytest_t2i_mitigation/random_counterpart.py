"""The floor of all mitigations: a gender is drawn for each picture, and put into its prompt."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class RandomCounterpart:
    """Each picture is made from the feminine or the masculine counterpart of its prompt.

    The baseline that any other mitigation has to beat: it needs nothing of the model but that it
    obeys a prompt that names a gender, and costs nothing.

    >>> texts = ("a female nurse", "a male nurse")
    >>> [RandomCounterpart().prompt("a nurse", seed, texts) for seed in range(3)]
    ['a male nurse', 'a female nurse', 'a male nurse']
    >>> from pytest_t2i import Mitigation
    >>> isinstance(RandomCounterpart(), Mitigation)
    True
    """

    share: float = 0.5
    """Share of pictures that are made from the feminine counterpart."""

    name: ClassVar[str] = "random-counterpart"
    fingerprint: ClassVar[str] = "1"
    stage: ClassVar[str] = "prompt"
    families: ClassVar[tuple[str, ...]] = ()
    passes: ClassVar[float] = 1.0
    needs_counterparts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"share: expected a number from 0 to 1, got {self.share:g}")

    def prompt(self, text: str, seed: int, counterparts: tuple[str, ...]) -> str:
        """The counterpart that seed and prompt draw: another prompt draws for itself."""
        feminine, masculine = counterparts
        return feminine if drawn(f"{seed}|{text}") < self.share else masculine


def drawn(text: str) -> float:
    """A number from 0 up to 1, which a text draws on every machine alike."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48
