"""The pictures of one triplet, with and without the mitigation: labels and features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from pytest_t2i import PLAIN, AuditContext, Prompt, Triplet

from pytest_t2i_mitigation.mitigated import features
from pytest_t2i_mitigation.mitigated.features import Rows
from pytest_t2i_mitigation.mitigated.judges import FEMALE, MALE, Judge, Labels


@dataclass(frozen=True)
class Pictures:
    """The pictures of one triplet, with their labels and features."""

    triplet: Triplet
    seeds: tuple[int, ...]
    context: AuditContext = field(compare=False)

    @classmethod
    def of(cls, triplet: Triplet, seeds: Sequence[int], context: AuditContext) -> Pictures:
        mitigated = context.observations
        seeds = mitigated.under(PLAIN).distinct([triplet.neutral], seeds)
        return cls(triplet, mitigated.distinct(tuple(triplet), seeds), context)

    @property
    def mitigated(self) -> Any:
        return self.context.observations

    @property
    def plain(self) -> Any:
        """The observations of the pictures without the mitigation."""
        return self.context.observations.under(PLAIN)

    def labels(self, judge: Judge) -> tuple[Labels, Labels]:
        neutral = self.triplet.neutral
        return (
            judge.labels(self.plain, neutral, self.seeds),
            judge.labels(self.mitigated, neutral, self.seeds),
        )

    def obeyed(self, judge: Judge) -> tuple[int, int]:
        """Return the number of pictures with the gender of their prompt, and with any gender."""
        obeyed = clear = 0
        for prompt, asked in ((self.triplet.feminine, FEMALE), (self.triplet.masculine, MALE)):
            said = [one for one in judge.labels(self.mitigated, prompt, self.seeds) if one]
            obeyed, clear = obeyed + said.count(asked), clear + len(said)
        return obeyed, clear

    @cached_property
    def rows(self) -> tuple[Rows, Rows, Rows, Rows]:
        """The features of plain, mitigated, feminine and masculine pictures, of complete seeds."""
        neutral, feminine, masculine = self.triplet
        of_each = [
            self._features(self.plain, neutral),
            *(self._features(self.mitigated, prompt) for prompt in (neutral, feminine, masculine)),
        ]
        whole = [row for row in zip(*of_each, strict=True) if all(one is not None for one in row)]
        plain, mitigated, women, men = (
            features.unit(np.array([row[k] for row in whole], dtype=np.float64)) for k in range(4)
        )
        return plain, mitigated, women, men

    def _features(self, observations: Any, prompt: Prompt) -> list[np.ndarray | None]:
        encoder = observations.components.encoder(self.context.encoder).fingerprint
        known_of = observations.arrays(prompt, self.seeds, encoder)
        return [None if one is None else np.ravel(one) for one in known_of]
