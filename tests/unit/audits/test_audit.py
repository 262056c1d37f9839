"""What an audit declares loads at first use."""

from __future__ import annotations

import pytest

from pytest_t2i.audits.audit import Fixture, loaded
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.engine.early_stopping import StoppingRule

FIXTURES = {name: f for audit in installed_audits() for name, f in audit.fixtures.items()}


@pytest.mark.parametrize("name", FIXTURES)
def test_what_a_fixture_names_is_there(name):
    fixture = FIXTURES[name]
    assert callable(loaded(fixture.make) if isinstance(fixture.make, str) else fixture.make)
    assert isinstance(fixture.stopping_rule(), StoppingRule | None)


def test_a_fixture_is_a_function_or_names_one():
    assert Fixture(lambda context, test: (context, test), "prompts").value(1, 2) == (1, 2)
    assert Fixture("operator:add", "prompts").value(1, 2) == 3


def test_tests_stop_early_by_a_rule_alone():
    assert Fixture("operator:add", "prompts").stopping_rule() is None
    assert {name for name in FIXTURES if FIXTURES[name].stopping_rule()} == {
        "sample", "stereotype",
    }  # fmt: skip
