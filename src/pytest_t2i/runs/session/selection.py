"""The selection of a test's t2i marker, and the selected tests of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pytest_t2i.audits.audit import About, Audit, Fixture
from pytest_t2i.audits.engine.early_stopping import Stopping
from pytest_t2i.audits.engine.instruments import opposite_prompts
from pytest_t2i.data import Attribute, Prompt, Triplet
from pytest_t2i.prompts import Stereotype
from pytest_t2i.runs.session.prompt_ids import Tags, tagged, tags_of

KINDS: tuple[About, ...] = ("prompts", "triplets", "stereotypes")
"""Kinds of members with images."""
ABOUT: tuple[About, ...] = (*KINDS, "detectors")
"""All kinds of members."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of one ``@pytest.mark.t2i(...)``."""

    prompts: tuple[Prompt, ...] = ()
    triplets: tuple[Triplet, ...] = ()
    stereotypes: tuple[Stereotype, ...] = ()
    fixtures: frozenset[str] = frozenset()
    """Names of the audits' fixtures that the test receives."""
    finds: bool = False
    """Whether one of these fixtures needs an object detector."""
    keywords: tuple[tuple[str, Any], ...] = ()
    """(keyword, value) pairs of the audits whose fixtures the test receives."""
    detectors: tuple[str, ...] = ()
    """Detectors to be evaluated on the labelled images."""
    attributes: tuple[Attribute, ...] = ()
    """Attributes to measure in the images of prompts; a stereotype has its own."""
    observe: tuple[str, ...] = ()
    """Traces to keep: names of generation.plan.OBSERVED."""
    most_images: int | None = None
    """Largest number of images per prompt; None takes the run's."""
    extras: frozenset[str] = frozenset()
    """Extras that the test needs besides those of detectors and encoders."""

    def members(self, kind: About) -> tuple[Any, ...]:
        return getattr(self, kind)  # type: ignore[no-any-return]

    def only(self, members: Mapping[About, tuple[Any, ...]]) -> Selection:
        """Return the selection with these members alone, by kind."""
        about: dict[str, Any] = {kind: members.get(kind, ()) for kind in ABOUT}
        return replace(self, **about)

    def asked(self, keyword: str) -> Any:
        """Return the value of an audit's keyword; None if the selection does not have it."""
        return dict(self.keywords).get(keyword)

    def tagged(self, tags: Tags) -> Selection:
        """Return the selection with tags on prompts that share their id with another text."""
        members = {kind: tuple(tagged(m, tags) for m in getattr(self, kind)) for kind in KINDS}
        return replace(self, **members)  # type: ignore[arg-type]

    def images(self, images: int) -> int:
        """Return the images per prompt in a run of ``images`` per prompt."""
        return min(images, self.most_images or images)

    @property
    def texts(self) -> list[str]:
        return [prompt.text for prompt in self.all_prompts]

    @property
    def all_prompts(self) -> list[Prompt]:
        """All prompts with images, of triplets and stereotypes included."""
        prompts = [*self.prompts, *(stereotype.prompt for stereotype in self.stereotypes)]
        return prompts + [prompt for three in self.triplets for prompt in three]

    def checked(self) -> Selection:
        """Return this selection; raise ConfigurationError for an attribute without descriptions."""
        for _, attribute in self.subjects:
            opposite_prompts(attribute)
        return self

    @property
    def subjects(self) -> list[tuple[Prompt, Attribute]]:
        """The (prompt, attribute) pairs whose images are measured."""
        of_prompts = [
            (prompt, attribute) for prompt in self.prompts for attribute in self.attributes
        ]
        return [*of_prompts, *((s.prompt, s.attribute) for s in self.stereotypes)]

    @property
    def needs_model(self) -> bool:
        return bool(self.prompts or self.triplets or self.stereotypes or not self.detectors)


def narrowed(
    selection: Selection,
    used: Mapping[str, Fixture],
    members: Mapping[About, tuple[Any, ...]],
    audits: Iterable[Audit],
) -> Selection:
    """Return a marker's selection reduced to what the fixtures of a test are about."""
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
    """A comparison ``fixture.metric <= limit("name")`` in the source of a test."""

    fixture: str
    metric: str
    absolute: bool
    """Whether the absolute value is compared."""
    operator: str
    name: str
    """Name of the limit."""
    bound: float | None
    """Bound given in the call; None takes that of the limits file."""


@dataclass(frozen=True, slots=True)
class SelectedTest:
    """A collected test with its selection and its number of images."""

    node_id: str
    file: Path
    """File of the test function."""
    selection: Selection
    images: int
    """Images per prompt."""
    planned: int
    """Largest number of images per prompt; more than ``images`` if the test stopped early."""
    comparisons: tuple[Comparison, ...] = ()
    """All comparisons of the test, if they are known before it runs."""
    stopping: Stopping | None = None
    """Looks of the test under early stopping; None if its number of images is fixed."""
    family: str = ""
    """Name that all cases have in common whose members share one error level."""
    counted: int | None = None
    """Number of comparisons in the source of the test; None where it is not known."""
    takes_baseline: bool = False
    """Whether the test receives the fixture ``baseline``."""

    @property
    def function(self) -> str:
        """The test function, whose cases share one error level."""
        return self.node_id.partition("[")[0]

    @property
    def at_first_look(self) -> SelectedTest:
        if self.stopping is None:
            return self
        first = self.stopping.looks[0]
        return replace(self, images=first, planned=first, stopping=None)

    def stopped(self, stopping: Stopping) -> SelectedTest:
        return replace(self, images=stopping.images, planned=stopping.most, stopping=stopping)


def told_apart(tests: Mapping[str, SelectedTest]) -> dict[str, SelectedTest]:
    """Return the tests with tags on prompts that share their id with another text, by node id."""
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
    """Return the images per prompt text that all these (selection, images) pairs need."""
    counts: dict[str, int] = {}
    for selection, images in tests:
        for text in selection.texts:
            counts[text] = max(images, counts.get(text, 0))
    return counts
