"""Find words that a model is not calibrated for, and suggest words that it is calibrated for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.prompts import Axis, builtin_axes
from pytest_t2i.protocols import Calibrated

SHOWN = 8
"""The largest number of words that a note names."""


def unknown_words(model: str, axes: Sequence[Axis]) -> Iterator[str]:
    """Yield notes on words whose prompts the catalogue's model is not calibrated for.

    Yields nothing where the model is calibrated for every prompt, or is in no catalogue.
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
        f"{_some(unknown)}. Checks of these words stay inconclusive"
    )
    own = [word for axis in builtin_axes() for word in _known_words(calibration, axis)]
    if own:
        yield f"words that {model} is calibrated for, without --template: {_some(own)}"


def _known_words(calibration: Calibrated, axis: Axis) -> list[str]:
    """Return the words of an axis that a model is calibrated for, in the template of the axis.

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
