"""The people that one picture shows."""

from __future__ import annotations

from typing import NamedTuple

from pytest_t2i import People

MALE, FEMALE = "male", "female"


class ShownCrowd(NamedTuple):
    """What a detector that counts people says of one picture."""

    people: People | None
    """None for a picture of which nothing is known, such as a refused one."""
    front: str | None
    """Label of the person in front; None where there is nobody, or it is unclear."""
    undetected: str = ""
    """Reason for which nobody in front has a label; "" where somebody has."""

    @property
    def gap(self) -> float | None:
        """Share of men minus share of women; None where nobody has a label."""
        if self.people is None or not self.people.labelled:
            return None
        groups = self.people.groups
        return (groups.get(MALE, 0) - groups.get(FEMALE, 0)) / self.people.labelled

    @property
    def is_single(self) -> bool | None:
        """Whether several people with a label have the same; None for fewer people."""
        if self.people is None or self.people.labelled < 2:  # noqa: PLR2004 - two are several
            return None
        return max(self.people.groups.values()) == self.people.labelled
