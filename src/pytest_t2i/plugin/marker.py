"""The t2i marker of a test, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_t2i.audits.audit import About, Fixture, Keyword
from pytest_t2i.data import Triplet
from pytest_t2i.errors import T2IError
from pytest_t2i.plugin import options
from pytest_t2i.plugin.fixtures import RUN, audits_of_project
from pytest_t2i.prompts import read_captions
from pytest_t2i.runs.session.marker_arguments import select
from pytest_t2i.runs.session.selection import Selection, narrowed

READ = pytest.StashKey[dict[tuple[int, ...], tuple[list[pytest.Mark], Selection]]]()
"""Stash key: selections by the identity of their marker, with the marker to keep it alive."""


def read_marker(item: pytest.Item) -> Selection:
    """Return the selection of the test's markers, including those of its class and module."""
    markers = list(item.iter_markers("t2i"))
    # All cases of a test share its markers. Reading them for each of many prompts takes minutes.
    cache = item.config.stash.setdefault(READ, {})
    key = tuple(map(id, markers))
    if key not in cache:
        cache[key] = (markers, _select(item, markers))
    return cache[key][1]


def _select(item: pytest.Item, markers: list[pytest.Mark]) -> Selection:
    arguments: list[Any] = []
    keywords: dict[str, Any] = {}
    for marker in markers:
        arguments += marker.args
        keywords = {**marker.kwargs, **keywords}
    try:
        return select(arguments, keywords, _captions_of(item.config), _keywords_of(item.config))
    except T2IError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from None


def _keywords_of(config: pytest.Config) -> Mapping[str, Keyword]:
    audits = audits_of_project(config)
    return {name: keyword for audit in audits for name, keyword in audit.keywords.items()}


def _captions_of(config: pytest.Config) -> tuple[Triplet, ...]:
    """Return the triplets of --t2i-captions; () without the option."""
    settings = options.resolve(config)
    if settings.captions is None:
        return ()
    return read_captions(settings.captions).triplets()


def selection_of(item: pytest.Function) -> Selection:
    """Return what a collected test case needs: the part of its marker that its fixtures measure."""
    fixtures = fixtures_about(item.config)
    used = {name: fixtures[name] for name in fixtures if name in item.fixturenames}
    selection = read_marker(item)
    kinds = {fixture.about for fixture in used.values() if fixture.about is not None}
    members = {about: members_of(selection, about, item.config) for about in kinds}
    # A case with a single member has no other members, even if it uses other fixtures.
    members |= {
        fixture.about: (item.callspec.params[name],)
        for name, fixture in used.items()
        if fixture.one_by_one and fixture.about is not None
    }
    return narrowed(selection, used, members, audits_of_project(item.config))


def fixtures_about(config: pytest.Config) -> Mapping[str, Fixture]:
    """Return the fixtures of all audits, by name."""
    return {
        name: fixture
        for audit in audits_of_project(config)
        for name, fixture in audit.fixtures.items()
    }


def members_of(selection: Selection, about: About, config: pytest.Config) -> tuple[Any, ...]:
    """Return the selected members of one kind; detectors come from the run's settings."""
    return _detectors(config) if about == "detectors" else selection.members(about)


def _detectors(config: pytest.Config) -> tuple[str, ...]:
    """Return the names of the run's detectors, or a placeholder that is skipped without one."""
    run = config.pluginmanager.get_plugin(RUN)
    return run.session.detectors if run else ("detector",)
