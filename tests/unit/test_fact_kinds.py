"""Facts in a store have declared names."""

from __future__ import annotations

import pytest

from pytest_t2i.data import FactKind


@pytest.mark.parametrize("kind", FactKind)
def test_a_kind_is_the_beginning_of_its_names_and_of_no_others(kind):
    assert kind.of("a", 1) == f"{kind.value}:a:1"
    assert not [other for other in FactKind if other.of("").startswith(kind.of(""))][1:]
