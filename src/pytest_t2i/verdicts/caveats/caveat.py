"""What a check says beside its verdict: a name, words and facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_t2i.data import Name, Scalar

REMARK = "remark"
"""Name of a line of the measurement itself, such as the most biased prompts."""
LACKS = "lacks"
"""Fact of a caveat whose check lacks something else than images, in a few words."""


@dataclass(frozen=True, slots=True)
class Caveat:
    """What qualifies a verdict, or what the measurement says beside it.

    >>> Caveat("few prompts", "these are three prompts", {"prompts": 3}).lacks
    ''
    """

    name: Name
    message: str = ""
    """One sentence for people; "" where the facts are shown in another way."""
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    """What scripts read: the numbers behind the words."""

    @property
    def lacks(self) -> str:
        """What the check lacks, where more images would not decide it; else ""."""
        return str(self.facts.get(LACKS, ""))
