"""Find words that a model is not calibrated for, and suggest words that it is calibrated for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.prompts import Axis, builtin_axes
from pytest_t2i.protocols import Calibrated

SHOWN = 8
"""Number of words named in a note."""


def unknown_words(model: str, axes: Sequence[Axis]) -> Iterator[str]:
    """Notes on words whose prompts the catalogue's model is not calibrated for.

    There are none where the model is calibrated for any prompt, or is in no catalogue.
    """
    entry = read_catalogues(Registries().catalogues).models.get(model)
    calibration = entry.calibration() if entry else None
    if calibration is None:
        return
    words = [word for axis in axes for word in axis.concepts]
    known = [word for axis in axes for word in _known_words(calibration, axis)]
    unknown = [word for word in words if word not in known]
    if not unknown:
        return
    yield (
        f"{model} is not calibrated for {len(unknown)} of {len(words)} words in these sentences: "
        f"{_some(unknown)}. Checks that need them stay inconclusive"
    )
    own = [word for axis in builtin_axes() for word in _known_words(calibration, axis)]
    if own:
        yield f"words that {model} knows, without --template: {_some(own)}"


def _known_words(calibration: Calibrated, axis: Axis) -> list[str]:
    """Words of an axis that a model is calibrated for, in the axis' sentence.

    >>> class Nurses:
    ...     def is_calibrated_for(self, prompt):
    ...         return "nurse" in prompt
    >>> _known_words(Nurses(), builtin_axes()["profession"])
    ['nurse']
    """
    return [
        prompt.concept for prompt in axis.prompts() if calibration.is_calibrated_for(prompt.text)
    ]


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return f"{', '.join(words[:SHOWN])}{more}"
