"""What a registry says of a name that a companion would bring."""

from __future__ import annotations

import pytest

from pytest_t2i.adapters import registry
from pytest_t2i.errors import UnknownNameError


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ray", "Known: mine. Run: pip install pytest-t2i-ray"),
        ("ray:4", "Run: pip install pytest-t2i-ray"),
        ("rays", "module:factory[:source] is accepted, too."),
    ],
)
def test_an_executor_that_is_not_installed(name, told, monkeypatch):
    monkeypatch.setattr(registry, "_installed", lambda group: {})
    executors = registry.Registry("executor", {"mine": dict})
    with pytest.raises(UnknownNameError) as caught:
        executors.named(name)
    assert told in str(caught.value)
    assert "Run:" not in told or "module:factory" not in str(caught.value)
