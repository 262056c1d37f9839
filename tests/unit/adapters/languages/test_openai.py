"""An endpoint that fails in every way: nothing lost, nothing malformed taken, no key shown."""

from __future__ import annotations

import pytest

pytest.importorskip("openai")

from llm_server import FAULTS, serving

from pytest_t2i.adapters.languages.openai import load
from pytest_t2i.audits.candidates import ask_for_candidates
from pytest_t2i.errors import ConfigurationError, LanguageError, MalformedAnswerError
from pytest_t2i.prompts.candidates import SCHEMA
from pytest_t2i.protocols import Language, LoadOptions

KEY = "sk-very-secret-0123"
PROMPT = "a photo of a Tunisian person"


def endpoint(server, monkeypatch, **extra):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    return load(LoadOptions(source="m", extra=extra))


@pytest.mark.slow
def test_two_hundred_answers_of_a_faulty_server(monkeypatch, caplog):
    with serving(*FAULTS) as server:
        language = endpoint(server, monkeypatch)
        with caplog.at_level("DEBUG"):
            found = [ask_for_candidates(language, PROMPT, fewest=15, tries=8) for _ in range(200)]
    assert len(found) == 200
    for attributes in found:
        assert [one.name for one in attributes] == [f"thing {k}" for k in range(15)]
        assert all(one.positive != one.negative for one in attributes)
    assert len(server.asked) >= 590
    assert KEY not in caplog.text


def test_it_is_asked_by_schema_and_told_what_was_wrong(monkeypatch):
    with serving("no_json") as server:
        language = endpoint(server, monkeypatch)
        assert isinstance(language, Language)
        assert KEY not in repr(language) + language.fingerprint
        ask_for_candidates(language, PROMPT, fewest=15, tries=3)
    bodies = [body for _, body in server.asked]
    assert [body["model"] for body in bodies] == ["m"] * 3
    assert bodies[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    assert PROMPT in bodies[0]["messages"][0]["content"]
    assert "could not be used: the answer is not JSON" in bodies[1]["messages"][0]["content"]


@pytest.mark.slow
def test_a_slow_answer_is_asked_for_again(monkeypatch):
    with serving("slow") as server:
        language = endpoint(server, monkeypatch, seconds=0.3)
        assert language.answer("who?").startswith('{"attributes"')
    assert len(server.asked) == 3


def test_a_server_that_knows_no_schema(monkeypatch):
    with serving("schema", "no_fault") as server:
        language = endpoint(server, monkeypatch)
        # The second of three is refused by schema, too, but asked without.
        with pytest.raises(LanguageError, match="HTTP 400"):
            language.answer("who?", SCHEMA)
        assert language.answer("who?", SCHEMA)
    assert "response_format" not in server.asked[-1][1]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("truncated", "cut off"),
        ("refused", "refused to answer"),
        ("empty", "is empty"),
        ("broken_body", "holds no choice"),
    ],
)
def test_what_is_no_answer(monkeypatch, fault, expected):
    with serving(fault) as server, pytest.raises(MalformedAnswerError, match=expected):
        endpoint(server, monkeypatch).answer("who?")


def test_a_message_with_the_key_is_not_shown(monkeypatch):
    with serving("denied") as server, pytest.raises(LanguageError, match="HTTP 401") as told:
        endpoint(server, monkeypatch).answer("who?")
    assert KEY not in str(told.value)
    assert told.value.__cause__ is None


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr("pytest_t2i.adapters.languages.openai.TRIES", 0)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(LanguageError, match="APIConnectionError"):
        load(LoadOptions(source="m")).answer("who?")


def test_without_a_key_or_a_model(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="needs the environment variable OPENAI_API_KEY"):
        load(LoadOptions(source="m"))
    with pytest.raises(ConfigurationError, match="needs a model"):
        load(LoadOptions())
    monkeypatch.setenv("OPENAI_API_KEY", "two\nlines")
    with pytest.raises(ConfigurationError, match="printable ASCII"):
        load(LoadOptions(source="m"))
