"""Language models by name: a part that cannot be had is one clear message."""

from __future__ import annotations

import pytest

from pytest_t2i.adapters.languages.routing import load_language
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.protocols import LoadOptions


@pytest.mark.parametrize("name", ["nomodule:factory", ":factory"])
def test_a_module_that_is_not_there(name):
    module = name.partition(":")[0]
    expected = f"No language model is registered under this name, and there is no module '{module}'"
    with pytest.raises(UnknownNameError, match=expected):
        load_language(name)


def test_a_factory_that_is_none():
    with pytest.raises(ConfigurationError, match="expected a factory that takes LoadOptions"):
        load_language("json:loads")


def test_errors_of_the_tool_stay_what_they_are():
    with pytest.raises(ConfigurationError, match="expected the name of a file, got none"):
        load_language("file")


def test_the_parts_of_a_run_are_found_and_not_passed_on():
    given = []
    registries = Registries()
    registries.languages.update({"parrot": given.append})
    load_language("parrot:grey", LoadOptions(device="cpu", extra={"registries": registries}))
    assert given == [LoadOptions(source="grey", device="cpu")]
