"""Language models by name: a part that cannot be had is one clear message."""

from __future__ import annotations

import pytest

from pytest_t2i.adapters import registry
from pytest_t2i.adapters.languages.routing import load_language
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.errors import ConfigurationError, T2IError, UnknownNameError
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
    def refusing(options):
        raise T2IError(f"no parrot is {options.source}")

    registries = Registries()
    registries.languages.update({"parrot": refusing})
    with pytest.raises(T2IError, match=r"^no parrot is grey$"):
        load_language("parrot:grey", LoadOptions(extra={"registries": registries}))


@pytest.mark.parametrize("name", ["openai:m", "transformers:folder", "file:answer.json"])
def test_without_the_companion_the_line_that_installs_it_is_told(name, monkeypatch):
    monkeypatch.setattr(registry, "_installed", lambda group: {})
    with pytest.raises(UnknownNameError, match="Run: pip install pytest-t2i-origins "):
        load_language(name)


def test_the_parts_of_a_run_are_found_and_not_passed_on():
    given = []
    registries = Registries()
    registries.languages.update({"parrot": given.append})
    load_language("parrot:grey", LoadOptions(device="cpu", extra={"registries": registries}))
    assert given == [LoadOptions(source="grey", device="cpu")]
