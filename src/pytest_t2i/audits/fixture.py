"""The parts of an audit that tests use: fixtures, and keywords of the marker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from pytest_t2i.audits.context import AuditContext
    from pytest_t2i.audits.early_stopping import State
    from pytest_t2i.settings import Settings
    from pytest_t2i.statistics.group_sequential import SequentialTest

About = Literal["prompts", "triplets", "stereotypes", "detectors"]


def _none_watched(settings: Settings) -> Collection[str]:  # noqa: ARG001 - as it is called
    return ()


def _by_intervals(selection: Any, metric: str, test: Any) -> None:  # noqa: ARG001 - as it is called
    return None


def _by_verdict(value: Any) -> None:  # noqa: ARG001 - as it is called
    return None


def _nothing_unmet(settings: Settings) -> str:  # noqa: ARG001 - as it is called
    return ""


def _nothing_unseen(context: AuditContext, test: Any) -> str:  # noqa: ARG001 - as it is called
    return ""


@dataclass(frozen=True, slots=True)
class Fixture:
    """A fixture that tests can ask for.

    >>> Fixture(lambda context, test: test.images, about="prompts").one_by_one
    False
    """

    make: Callable[[AuditContext, Any], Any]
    """(context, test) -> the fixture's value."""
    about: About | None
    """What the marker must name for the fixture; "detectors" needs labelled images and no name;
    None stands for a fixture that is the same for all tests."""
    one_by_one: bool = False
    """Whether each named prompt, triplet or stereotype is a test case of its own; else one test has
    all."""
    doc: str = ""
    """The text that ``pytest --fixtures`` shows."""
    finds: bool = False
    """Whether the fixture needs an object detector."""
    extras: tuple[str, ...] = ()
    """Extras that the fixture needs; missing packages are reported before an image is made."""
    unmet: Callable[[Settings], str] = _nothing_unmet
    """Returns why a run cannot provide the fixture and the test is skipped; "" where it can."""
    unseen: Callable[[AuditContext, Any], str] = _nothing_unseen
    """Returns why the images do not show what is measured, so that the test is skipped; else ""."""
    watched: Callable[[Settings], Collection[str]] = _none_watched
    """Names of the fixture's metrics whose intervals hold at every look of early stopping."""
    tested: Callable[[Any, str, SequentialTest], SequentialTest | None] = _by_intervals
    """(selection, metric, test of a share with the limit as its bound) -> the test by which a
    member stops by its own images; None where intervals decide."""
    settled: Callable[[Any], State | None] = _by_verdict
    """The fixture's value -> the state that a member's own images have reached; None where the
    verdict shows it."""


class Keyword(NamedTuple):
    """A keyword of the marker that an audit reads.

    >>> Keyword(lambda value: tuple(value), default=()).read(["prompt", "image"])
    ('prompt', 'image')
    """

    read: Callable[[Any], Hashable]
    """Given value -> the value that the audit reads; raises ConfigurationError for a wrong one."""
    default: Hashable
    """The value where the marker does not have the keyword."""
