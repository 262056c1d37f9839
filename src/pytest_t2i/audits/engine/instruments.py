"""The observations that the instruments of OASIS share, and the encoder behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_t2i.data import Attribute, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.plan import ATTRIBUTE_IMAGES, FEATURES
from pytest_t2i.prompts.stereotypes import check_descriptions

AXIS = "attribute"
"""Axis of the prompts that describe an attribute."""


@dataclass(frozen=True, slots=True)
class Instruments:
    """What an instrument needs besides a prompt's images."""

    encoder: str
    seed: int
    """Seed of every resampling."""
    observe: tuple[str, ...]
    """Observations that the marker of the test asks for."""
    attributes: tuple[Attribute, ...]
    """Attributes that the marker names."""
    seeds: Callable[[Prompt, int], tuple[int, ...]]
    """(prompt, number of images) -> their seeds."""

    def require(self, observed: str, attribute: Attribute | None, what: str) -> None:
        """Raise ConfigurationError, naming the keyword, for what the marker did not ask for."""
        if observed == FEATURES and ATTRIBUTE_IMAGES in self.observe:
            observed = ATTRIBUTE_IMAGES
        if observed not in self.observe:
            raise ConfigurationError(
                f"{what} needs what was not observed: write @pytest.mark.t2i(..., "
                f"observe={observed!r})"
            )
        if attribute is not None and attribute not in self.attributes:
            raise ConfigurationError(
                f"{what}: the attribute {attribute.name!r} is not among those of the marker: write "
                "@pytest.mark.t2i(..., attributes=[...])"
            )


def checked_attribute(attribute: object) -> Attribute:
    """Return the attribute itself; raises ConfigurationError for anything else, such as a name.

    >>> checked_attribute(Attribute("hat", "a man with a hat", "a man")).name
    'hat'
    """
    if not isinstance(attribute, Attribute):
        raise ConfigurationError(
            f"expected an Attribute, such as Attribute('hat', 'a man with a hat', 'a man without "
            f"a hat'), got {attribute!r}"
        )
    return attribute


def opposite_prompts(attribute: Attribute) -> tuple[Prompt, Prompt]:
    """Return the prompts that describe an attribute's presence and its absence.

    >>> [prompt.id for prompt in opposite_prompts(Attribute("hat", "a man with a hat", "a man"))]
    ['attribute-hat-present', 'attribute-hat-absent']
    """
    check_descriptions(checked_attribute(attribute))
    texts = attribute.positive, attribute.negative
    present, absent = (
        Prompt(text, AXIS, f"{attribute.name} {word}")
        for text, word in zip(texts, ("present", "absent"), strict=True)
    )
    return present, absent
