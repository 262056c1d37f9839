"""The t2i marker of a test, read and checked."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_t2i.asking import Ask, parse
from pytest_t2i.errors import T2IError


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
