"""What tests see of an audit: fixtures, and keywords of the marker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from pytest_t2i.audits.context import AuditContext
    from pytest_t2i.audits.early_stopping import State
    from pytest_t2i.settings import Settings
    from pytest_t2i.statistics import SequentialTest

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
    """What tests receive by one name.

    >>> Fixture(lambda context, test: test.images, about="prompts").one_by_one
    False
    """

    make: Callable[[AuditContext, Any], Any]
    """(context, test) -> its value."""
    about: About | None
    """What the marker must name for the fixture; "detectors" need labelled images and no name; None
    for a fixture that is the same for all tests."""
    one_by_one: bool = False
    """Whether there is one test case for each of them; else one test has them all."""
    doc: str = ""
    """What ``pytest --fixtures`` says."""
    finds: bool = False
    """Whether it needs an object detector."""
    extras: tuple[str, ...] = ()
    """Extras that it needs besides: missing packages are told before an image is made."""
    unmet: Callable[[Settings], str] = _nothing_unmet
    """Why a run cannot give it: the test is skipped; "" where it can."""
    unseen: Callable[[AuditContext, Any], str] = _nothing_unseen
    """Why the images that were made do not show it: the test is skipped; "" where they do."""
    watched: Callable[[Settings], Collection[str]] = _none_watched
    """Its metrics whose intervals allow for looking again and again, as early stopping does."""
    tested: Callable[[Any, str, SequentialTest], SequentialTest | None] = _by_intervals
    """(selection, metric, test of a share with the limit as its bound) -> the test by which a
    member stops for itself; None where it is judged by intervals."""
    settled: Callable[[Any], State | None] = _by_verdict
    """Its value -> where a member's own images have brought it; None where its verdict can say."""


class Keyword(NamedTuple):
    """A keyword of the marker that an audit understands.

    >>> Keyword(lambda value: tuple(value), default=()).read(["prompt", "image"])
    ('prompt', 'image')
    """

    read: Callable[[Any], Hashable]
    """What was given -> what the audit is told; ConfigurationError for what it does not take."""
    default: Hashable
    """What it is told where the marker does not say."""
