"""Prompts that the model is not calibrated for: there is no verdict on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from pytest_t2i.errors import some
from pytest_t2i.verdicts.caveats.seams import Question

SHOWN = 5
"""Number of prompts that a message names."""


class Uncalibrated(NamedTuple):
    """The prompts of a test, or of a run, that the model is not calibrated for.

    >>> Uncalibrated(("a photo of a welder",), ("welder",), 20).counted
    '1 of 20 prompts (welder)'
    """

    texts: Sequence[str]
    names: Sequence[str]
    prompts: int
    """Number of all prompts."""

    @property
    def counted(self) -> str:
        """A text such as ``2 of 20 prompts (welder, midwife)``."""
        names = some(list(dict.fromkeys(self.names)), SHOWN)
        prompts = "prompt" if self.prompts == 1 else "prompts"
        return f"{len(self.texts)} of {self.prompts} {prompts} ({names})"


@runtime_checkable
class KnowsPrompts(Protocol):
    """What knows the prompts of a test."""

    def uncalibrated(self) -> Uncalibrated:
        """Return the prompts that the model is not calibrated for."""


class Calibration:
    """Nothing is decided of a test with a prompt that the model is not calibrated for."""

    def void(self, question: Question) -> str:
        """Return which prompts the model is not calibrated for; "" where it is for all."""
        run = question.known(KnowsPrompts)  # type: ignore[type-abstract]
        if run is None or not (unknown := run.uncalibrated()).texts:
            return ""
        what = repr(unknown.texts[0]) if unknown.prompts == 1 else unknown.counted
        return f"the model is not calibrated for {what}"
