"""Dependencies: whether the objects that prompt or scene bring depend on gender (Wu section 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

from pytest_t2i import statistics
from pytest_t2i.audits.dependencies.groups import GROUPS, Placed, maps_of, placed, tally
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.objects import counts
from pytest_t2i.audits.objects.counts import PEOPLE, CountedTriplets
from pytest_t2i.audits.objects.measure import Objects
from pytest_t2i.data import ATTENTION, ATTENTION_MAPS, Interval, Prompt
from pytest_t2i.errors import ConfigurationError, DetectorError
from pytest_t2i.generation.plan import Need
from pytest_t2i.prompts.words_in_prompts import nouns
from pytest_t2i.verdicts.measurement import Measurement

Groups = Mapping[str, Counter[str]]
NO_ATTENTION = "this model does not show word attention: groups need a UNet or an MM-DiT"
CANDIDATES = 24
"""Number of pictures from which the example of a group is chosen."""


class Example(NamedTuple):
    """A picture of a group: its prompt and seed, and where the object and the attention lie."""

    prompt: Prompt
    seed: int
    placed: Placed


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Return the need for objects and word attention of all three variants."""
    return counts.needs(context, test, frozenset({ATTENTION}))


@dataclass(frozen=True, repr=False)
class Dependencies(CountedTriplets):
    """The objects of triplets, told apart by what brought them into the picture.

    >>> import pytest
    >>> from pytest_t2i import Dependencies, axes, limit
    >>> @pytest.mark.t2i(axes.object)
    ... def test_it(dependencies: Dependencies) -> None:
    ...     assert dependencies.independence("hidden") >= limit("object_independence", 0.05)
    """

    _known: dict[tuple[str, int], Groups | None] = field(default_factory=dict)

    def groups_of(self, prompt: Prompt, seeds: Sequence[int]) -> list[Groups | None]:
        """Return the groups in each image; None without a picture or without attention."""
        todo = [seed for seed in seeds if (prompt.text, seed) not in self._known]
        for seed, placements in zip(todo, self.placed_in(prompt, todo), strict=True):
            self._known[prompt.text, seed] = None if placements is None else tally(placements)
        return [self._known[prompt.text, seed] for seed in seeds]

    def placed_in(self, prompt: Prompt, seeds: Sequence[int]) -> list[list[Placed] | None]:
        """Return the placed objects of each image; None without a picture or without attention."""
        if not seeds:
            return []
        objects_per_image = self.observations.objects(prompt, seeds, self.finder)
        maps = self.observations.arrays(prompt, seeds, ATTENTION_MAPS)
        pictures = self.observations.pictures(prompt, seeds)
        return [
            None
            if objects is None or attention is None or picture is None
            else _placed(prompt.text, objects, attention, picture.size)
            for objects, attention, picture in zip(objects_per_image, maps, pictures, strict=True)
        ]

    def example(self, group: str) -> Example | None:
        """Return the clearest picture of a group's most frequent name; None for an empty group.

        In the guided groups a noun's attention covers most of the object, in the independent groups
        least of it. In the group "hidden" the noun's attention has the largest area.
        """
        if not (prevalent := self.prevalent(group, 1)):
            return None
        name = prevalent[0][0]
        pictures = [
            (prompt, seed)
            for triplet, seeds in self.members
            for prompt in triplet
            for seed, groups in zip(seeds, self.groups_of(prompt, seeds), strict=True)
            if groups is not None and groups[group][name]
        ]
        candidates = [
            Example(prompt, seed, candidate)
            for prompt, seed in pictures[:CANDIDATES]
            for candidate in self.placed_in(prompt, [seed])[0] or ()
            if (candidate.name, candidate.group) == (name, group)
        ]
        return max(candidates, key=lambda candidate: _clearness(candidate.placed))

    def group(self, *names: str) -> GroupObjects:
        """Return the objects of one group, or of several together, with all metrics of objects.

        Raises:
            ConfigurationError: a group is unknown, or none is named.
        """
        for name in names or ("",):
            if name not in GROUPS:
                raise ConfigurationError(f"expected a group of {', '.join(GROUPS)}, got {name!r}")
        shared = {f.name: getattr(self, f.name) for f in fields(CountedTriplets)}
        return GroupObjects(**shared, groups=names, dependencies=self)

    def independence(self, group: str, *variants: str) -> Measurement:
        """Return the p-value of "its objects do not depend on the variant" (Wu Tables 7-9)."""
        return self.group(group).independence(*variants)

    def highest_bias_score(self, *groups: str) -> Measurement:
        """Return the score of the most one-sided object of the groups (Wu Figures 7 and 8)."""
        return self.group(*groups).highest_bias_score

    def pooled_bias_score(self, *groups: str) -> Measurement:
        """Return the share of all occurrences in the groups that come with masculine prompts."""
        return self.group(*groups).pooled_bias_score

    @cached_property
    def images(self) -> list[tuple[Prompt, Groups]]:
        """Every image whose groups are known, with its prompt."""
        return [
            (prompt, groups)
            for triplet, seeds in self.members
            for prompt in triplet
            for groups in self.groups_of(prompt, seeds)
            if groups is not None
        ]

    def presence(self, group: str) -> Interval | None:
        """Return the share of images that have a group (Wu Table 11); None without images."""
        if not self.images:
            return None
        present = sum(bool(set(groups[group]) - PEOPLE) for _, groups in self.images)
        return statistics.share_interval(present, len(self.images), self.level)

    @cached_property
    def names(self) -> dict[str, frozenset[str]]:
        """Names that occur in each group, and under "nouns" the prompts' nouns (Wu Table 12)."""
        names: dict[str, set[str]] = {group: set() for group in (*GROUPS, "nouns")}
        for prompt, groups in self.images:
            for group, names_in_group in groups.items():
                names[group] |= set(names_in_group)
            names["nouns"] |= {noun for noun, _ in nouns(prompt.text)}
        return {group: frozenset(of_group - PEOPLE) for group, of_group in names.items()}

    def intersection(self, group: str, other: str) -> float | None:
        """Return the share of a group's objects also in another (Wu Table 13); None if empty."""
        mine = self.names[group]
        return len(mine & self.names[other]) / len(mine) if mine else None

    def prevalent(self, group: str, most: int = 10) -> list[tuple[str, int]]:
        """Return a group's most frequent names with counts, without people (Wu Figure 6)."""
        counts: Counter[str] = Counter()
        for _, groups in self.images:
            counts.update(groups[group])
        return [(name, n) for name, n in counts.most_common() if name not in PEOPLE][:most]


@dataclass(frozen=True, repr=False)
class GroupObjects(Objects):
    """The objects of some groups; in the group "hidden", the nouns that no object shows."""

    groups: tuple[str, ...] = ()
    dependencies: Any = None
    """The ``Dependencies`` that sort objects into groups."""

    @property
    def dims(self) -> dict[str, str]:
        return {"group": ", ".join(self.groups)}

    def _counted(self, prompt: Prompt, seeds: Sequence[int]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for groups in self.dependencies.groups_of(prompt, seeds):
            if groups is not None:
                for group in self.groups:
                    counts.update(groups[group])
        return counts

    def _untestable(self, counts: Any) -> str:
        return super()._untestable(counts) if self.dependencies.images else NO_ATTENTION

    def _nothing_judged(self) -> str:
        return super()._nothing_judged() if self.dependencies.images else NO_ATTENTION


def dependencies_of(context: AuditContext, test: AskedTest) -> Dependencies:
    """Return the objects in the images of a test's triplets, by dependency group."""
    return counts.count_triplets(Dependencies, context, test)


def _clearness(placement: Placed) -> float:
    if placement.group == "hidden":
        return float(placement.mask.sum())
    return placement.covered if placement.group.endswith("_guided") else 1.0 - placement.covered


def _placed(prompt: str, objects: Any, attention: Any, size: tuple[int, int]) -> list[Placed]:
    try:
        return placed(prompt, objects, maps_of(prompt, attention), size)
    except ValueError as error:
        raise DetectorError(f"{prompt!r}: {error}") from None
