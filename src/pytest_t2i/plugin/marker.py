"""The t2i marker of a test, read and checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_t2i.errors import T2IError
from pytest_t2i.runs.selection import ONE_BY_ONE, TOGETHER, TRIALS, Ask, parse


def read_marker(item: pytest.Item) -> Ask:
    """The test's marker, those of its class and module included; UsageError names the test."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for marker in item.iter_markers("t2i"):
        args += marker.args
        kwargs = {**marker.kwargs, **kwargs}
    try:
        return parse(args, kwargs)
    except T2IError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from None


def ask_of(item: pytest.Function) -> Ask:
    """What a collected test case asks for: its marker, as far as its fixtures are about it."""
    ask = read_marker(item)
    wanted = [name for name in [*ONE_BY_ONE, *TOGETHER] if name in item.fixturenames]
    for fixture in wanted:
        if fixture in ONE_BY_ONE:
            ask = ask.restricted(fixture, item.callspec.params[fixture])
    if all(fixture in TOGETHER for fixture in wanted):
        kinds = {TOGETHER[fixture] for fixture in wanted}
        ask = Ask(
            **{kind: getattr(ask, kind) for kind in kinds}, images=ask.images, spaces=ask.spaces
        )
    return replace(ask, labelled=any(name in item.fixturenames for name in TRIALS))
