"""Language models of others by name: one that is none is one clear message, not a traceback."""

from __future__ import annotations

import pytest
from pytest_t2i import AnswerLimits, GenerationSettings, NextToken, Observations
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.cli.main import main
from pytest_t2i.errors import T2IError, UnknownNameError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import RequestSettings
from pytest_t2i.generation.store import Store
from pytest_t2i.settings import Settings

from pytest_t2i_origins.languages import answering, checked_tokens, continuing

TEXTS = ["a", "b"]


class Parrot:
    fingerprint = "parrot"

    def __init__(self, told):
        self.told = told

    def answer(self, question, schema=None):
        return self.told

    def next_tokens(self, texts, count):
        return self.told


@pytest.fixture
def named(tmp_path, monkeypatch):
    """Load a language model by its name; a parrot says what it is told."""

    def named(find, name, told=None):
        registries = Registries()
        registries.languages.update({"parrot": lambda options: Parrot(told)})
        monkeypatch.setattr("pytest_t2i.adapters.languages.routing.Registries", lambda: registries)
        if find is answering:
            return answering(name, AnswerLimits())
        store = Store(tmp_path)
        components = Components(Settings(store=tmp_path), store, registries=registries)
        return continuing(name, Observations(components, RequestSettings(GenerationSettings())))

    return named


@pytest.mark.parametrize("find", [answering, continuing])
def test_a_factory_that_is_none(named, find):
    expected = r"--llm json:loads: expected a factory that takes LoadOptions .* TypeError: the JSON"
    with pytest.raises(T2IError, match=expected):
        named(find, "json:loads")
    with pytest.raises(T2IError, match=r"a language model that (answers|continues) .*, got str"):
        named(find, "builtins:repr")


def test_errors_of_the_tool_stay_what_they_are(named):
    with pytest.raises(T2IError, match="expected the name of a file, got none"):
        named(answering, "file")


@pytest.mark.parametrize("told", [7, None, b"{}", ["{}"]])
def test_an_answer_that_is_no_text(named, told):
    language = named(answering, "parrot", told)
    with pytest.raises(T2IError) as error:
        language.answer("who?")
    assert str(error.value) == (f"Parrot.answer: expected a text, got {told!r}: correct its code.")


def test_an_answer_is_given_on(named):
    language = named(answering, "parrot", "{}")
    assert (language.answer("who?"), language.fingerprint) == ("{}", "parrot")


@pytest.mark.parametrize(
    "told", [5, None, "ab", ["a", "b"], [["a"], ["b"]], [[NextToken("a", 1.0)]], [[], [("a", 1.0)]]]
)
def test_next_tokens_that_are_none(named, told):
    with pytest.raises(T2IError) as error:
        checked_tokens(named(continuing, "parrot", told), TEXTS, 3)
    expected = "Parrot.next_tokens: expected a list of NextToken for each of 2 texts, got"
    assert str(error.value) == f"{expected} {told!r}: correct its code."


def test_next_tokens_are_given_on(named):
    told = [[NextToken("a b", 1.0)], ()]
    assert checked_tokens(named(continuing, "parrot", told), TEXTS, 3) is told


@pytest.mark.parametrize("name", ["nomodule:factory", ":factory"])
def test_a_module_that_is_not_there(named, name):
    module = name.partition(":")[0]
    expected = f"No language model is registered under this name, and there is no module '{module}'"
    with pytest.raises(UnknownNameError, match=expected):
        named(answering, name)


def test_an_answer_in_a_file_is_asked_for_once(tmp_path, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "pytest_t2i_origins.languages.file.Written.answer",
        lambda self, question, schema=None: asked.append(question) or self._text,
    )
    few = '{"attributes": [{"attribute": "hat", "positive": "a", "negative": "b"}]}'
    for text, problem in {
        "": "the answer is empty",
        "no": "the answer is not JSON: Expecting value: line 1 column 1 (char 0); it begins",
        few: "expected at least 15 attributes, got 1",
    }.items():
        file = tmp_path / "answer.json"
        file.write_text(text)
        llm = ("--llm", f"file:{file}", "--out", str(tmp_path / "out.toml"))
        assert main(["research", "candidates", "a Tunisian person", *llm]) == 2
        told = capsys.readouterr().err
        assert f"ERROR: {file}: {problem}" in told
        assert told.endswith(": mend the file or use --count.\n")
    assert len(asked) == 3
