"""How many workers of xdist make images."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_t2i.plugin import xdist
from pytest_t2i.settings import Settings


@pytest.mark.parametrize(
    ("executor", "makers"),
    [
        ("in-process", ["cuda:0", "cuda:1"]),
        ("auto", ["cuda:0", "cuda:1"]),
        ("processes:2", ["auto"]),
        ("mine:queue", ["auto"]),
    ],
)
def test_one_for_each_device_or_one_that_asks_the_executor(executor, makers, monkeypatch):
    monkeypatch.setattr(xdist, "devices", lambda asked: ["cuda:0", "cuda:1"])
    session = SimpleNamespace(settings=Settings(executor=executor))
    assert xdist._shared_out(session) == makers
