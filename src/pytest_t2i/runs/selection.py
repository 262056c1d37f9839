"""What was asked: the t2i marker of a test, read once, and the selected tests of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.early_stopping import Stopping
from pytest_t2i.audits.fixture import About, Fixture
from pytest_t2i.audits.instruments import described
from pytest_t2i.data import Attribute, Prompt, Triplet
from pytest_t2i.prompts import Stereotype
from pytest_t2i.runs.prompt_ids import Tags, tagged, tags_of

KINDS: tuple[About, ...] = ("prompts", "triplets", "stereotypes")
"""Kinds of members that images are made of."""
ABOUT: tuple[About, ...] = (*KINDS, "detectors")
"""Kinds of members."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What one ``@pytest.mark.t2i(...)`` selects."""

    prompts: tuple[Prompt, ...] = ()
    triplets: tuple[Triplet, ...] = ()
    stereotypes: tuple[Stereotype, ...] = ()
    fixtures: frozenset[str] = frozenset()
    """Names of the audits' fixtures that the test receives."""
    finds: bool = False
    """Whether one of them needs an object detector."""
    keywords: tuple[tuple[str, Any], ...] = ()
    """Keywords of audits, and what they are told; of audits whose fixtures the test receives."""
    detectors: tuple[str, ...] = ()
    """Detectors that are to be tried on the labelled set."""
    attributes: tuple[Attribute, ...] = ()
    """What the instruments look for in the images of prompts; a stereotype has its own."""
    observe: tuple[str, ...] = ()
    """What is kept for the instruments: names of generation.plan.OBSERVED."""
    most_images: int | None = None
    """At most that many images per prompt, when the run has more."""
    extras: frozenset[str] = frozenset()
    """Extras that the test needs besides the parts that look at its images."""

    def members(self, kind: About) -> tuple[Any, ...]:
        """Its members of a kind."""
        return getattr(self, kind)  # type: ignore[no-any-return]

    def only(self, members: Mapping[About, tuple[Any, ...]]) -> Selection:
        """The same, about these members alone; kind -> its members."""
        about: dict[str, Any] = {kind: members.get(kind, ()) for kind in ABOUT}
        return replace(self, **about)

    def asked(self, keyword: str) -> Any:
        """What an audit is told by a keyword of the marker; None where the test has none of it."""
        return dict(self.keywords).get(keyword)

    def tagged(self, tags: Tags) -> Selection:
        """The same, its prompts told from others of the same id."""
        members = {kind: tuple(tagged(m, tags) for m in getattr(self, kind)) for kind in KINDS}
        return replace(self, **members)  # type: ignore[arg-type]

    def images(self, images: int) -> int:
        """Images per prompt, in a run that has so many."""
        return min(images, self.most_images or images)

    @property
    def texts(self) -> list[str]:
        """Every text that images are made of."""
        return [prompt.text for prompt in self.all_prompts]

    @property
    def all_prompts(self) -> list[Prompt]:
        """Every prompt that images are made of."""
        prompts = [*self.prompts, *(stereotype.prompt for stereotype in self.stereotypes)]
        return prompts + [prompt for three in self.triplets for prompt in three]

    def checked(self) -> Selection:
        """Itself; ConfigurationError for an attribute that cannot be looked for."""
        for _, attribute in self.subjects:
            described(attribute)
        return self

    @property
    def subjects(self) -> list[tuple[Prompt, Attribute]]:
        """Whose images the instruments look at, and for which attribute."""
        of_prompts = [
            (prompt, attribute) for prompt in self.prompts for attribute in self.attributes
        ]
        return [*of_prompts, *((s.prompt, s.attribute) for s in self.stereotypes)]

    @property
    def needs_model(self) -> bool:
        """Whether a model has to make or show something for it."""
        return bool(self.prompts or self.triplets or self.stereotypes or not self.detectors)


def narrowed(
    selection: Selection,
    used: Mapping[str, Fixture],
    members: Mapping[About, tuple[Any, ...]],
    audits: Iterable[Audit[Any]],
) -> Selection:
    """What a marker selects, as far as the fixtures that a test receives are about it."""
    understood = {
        keyword
        for audit in audits
        if not used.keys().isdisjoint(audit.fixtures)
        for keyword in audit.keywords
    }
    return replace(
        selection.only(members),
        fixtures=frozenset(used),
        finds=any(fixture.finds for fixture in used.values()),
        extras=selection.extras.union(*(fixture.extras for fixture in used.values())),
        keywords=tuple(pair for pair in selection.keywords if pair[0] in understood),
    )


class Comparison(NamedTuple):
    """``fixture.metric <= limit("name")`` as it stands in a test."""

    fixture: str
    metric: str
    absolute: bool
    """Whether it is the absolute value that is compared."""
    operator: str
    name: str
    """The limit's name."""
    bound: float | None
    """Given in the call; None where the limits file is asked."""


@dataclass(frozen=True, slots=True)
class SelectedTest:
    """A collected test with what it asks for, its images per prompt resolved."""

    node_id: str
    file: Path
    """Where it stands."""
    selection: Selection
    images: int
    """Per prompt."""
    planned: int
    """Images per prompt that it may have at most; more than ``images`` once it stopped early."""
    comparisons: tuple[Comparison, ...] = ()
    """All that it compares, where that is known before it runs."""
    stopping: Stopping | None = None
    """How its images are chosen while looking at them; None where their number is fixed."""

    @property
    def function(self) -> str:
        """The test function, whose cases share one error level."""
        return self.node_id.partition("[")[0]

    @property
    def sequential(self) -> bool:
        """Whether its images are chosen while looking at them."""
        return self.stopping is not None

    def stopped(self, stopping: Stopping) -> SelectedTest:
        """The same with the images at which it stopped."""
        return replace(self, images=stopping.images, planned=stopping.most, stopping=stopping)


def told_apart(tests: Mapping[str, SelectedTest]) -> dict[str, SelectedTest]:
    """The tests with prompts of one id and several texts tagged; by node id."""
    tags = tags_of(
        member
        for test in tests.values()
        for kind in KINDS
        for member in getattr(test.selection, kind)
    )
    if not tags:
        return dict(tests)
    return {
        node: replace(test, selection=test.selection.tagged(tags)) for node, test in tests.items()
    }


def images_wanted(tests: Iterable[tuple[Selection, int]]) -> dict[str, int]:
    """Images per prompt text that all of these (selection, images) need together."""
    wanted: dict[str, int] = {}
    for selection, images in tests:
        for text in selection.texts:
            wanted[text] = max(images, wanted.get(text, 0))
    return wanted
