"""An endpoint that fails in every way: nothing lost, nothing malformed taken, no key shown."""

from __future__ import annotations

from contextlib import suppress

import pytest

pytest.importorskip("httpx")

from llm_server import BODIES, BYTES, FAULTS, serving
from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.data import digest
from pytest_t2i.errors import ConfigurationError, LanguageError, MalformedAnswerError, T2IError
from pytest_t2i.protocols import AnswerLimits, Language, LoadOptions

from pytest_t2i_origins.languages.openai import load
from pytest_t2i_origins.questions.candidates import SCHEMA, ask_for_candidates

KEY = "sk-very-secret-0123"
PROMPT = "a photo of a Tunisian person"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)


@pytest.fixture
def endpoint(monkeypatch):
    """Loads the model of a server."""

    def loaded(server, key=KEY, **limits):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return load(LoadOptions(source="m", answers=AnswerLimits(**limits)))

    return loaded


@pytest.mark.slow
def test_two_hundred_answers_of_a_faulty_server(endpoint, caplog):
    with serving(*FAULTS) as server:
        language = endpoint(server)
        with caplog.at_level("DEBUG"):
            found = [ask_for_candidates(language, PROMPT, fewest=15, tries=8) for _ in range(200)]
    assert len(found) == 200
    for attributes in found:
        assert [one.name for one in attributes] == [f"thing {k}" for k in range(15)]
        assert all(one.positive != one.negative for one in attributes)
    assert len(server.asked) >= 590
    assert KEY not in caplog.text


def test_it_is_asked_by_schema_and_told_what_was_wrong(endpoint):
    with serving("no_json") as server:
        language = endpoint(server)
        assert isinstance(language, Language)
        assert KEY not in repr(language) + language.fingerprint
        ask_for_candidates(language, PROMPT, fewest=15, tries=3)
    bodies = [body for _, body in server.asked]
    assert [body["model"] for body in bodies] == ["m"] * 3
    assert bodies[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    assert PROMPT in bodies[0]["messages"][0]["content"]
    assert "could not be used: the answer is not JSON" in bodies[1]["messages"][0]["content"]


@pytest.mark.slow
def test_a_slow_answer_is_asked_for_again(endpoint):
    with serving("slow") as server:
        language = endpoint(server, seconds=1.5)
        assert language.answer("who?").startswith('{"attributes"')
    assert len(server.asked) == 2


@pytest.mark.parametrize("fault", ["schema", "schema_422"])
def test_a_server_that_knows_no_schema(endpoint, fault):
    with serving(fault) as server:
        language = endpoint(server)
        for question in ("who?", "what?", "when?"):
            assert language.answer(question, SCHEMA)
    asked = ["response_format" in body for _, body in server.asked]
    assert asked == [True, False, False, False]


def test_one_question_that_is_too_long_costs_the_others_no_schema(endpoint):
    with serving("too_long", "no_fault") as server:
        language = endpoint(server)
        # Refused with and without the schema: the schema is not the reason.
        with pytest.raises(LanguageError, match="HTTP 400: exceeded"):
            language.answer("who?" * 999, SCHEMA)
        assert language.answer("who?", SCHEMA)
    assert "response_format" in server.asked[-1][1]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("truncated", "was truncated"),
        ("refused", "refused to answer"),
        ("empty", "is empty"),
        ("broken_body", "has no choice"),
        ("empty_body", "body is no whole JSON"),
        ("cut_body", "body is no whole JSON"),
        ("not_utf8", "body is no whole JSON"),
        ("deep_body", "body is no whole JSON"),
        ("long_number", "body is no whole JSON"),
        ("no_object", "has no choice"),
        ("no_message", "has no message"),
        ("null_message", "has no message"),
        ("message_of_words", "has no message"),
        ("no_text", "content is no text"),
        ("null_choice", "has no message"),
        ("choices_of_words", "has no choice"),
    ],
)
def test_what_is_no_answer(endpoint, fault, expected):
    with serving(fault) as server, pytest.raises(MalformedAnswerError, match=expected):
        endpoint(server).answer("who?")


@pytest.mark.parametrize("fault", [*BODIES, *BYTES])
def test_a_body_that_stays_broken_ends_in_one_clear_error(endpoint, fault):
    with serving(fault) as server:
        language = endpoint(server)
        with pytest.raises(LanguageError, match=r"no usable answer in 2 tries: the answer") as told:
            ask_for_candidates(language, PROMPT, fewest=15, tries=2)
        assert "Ask another model" in str(told.value)
        # The third answer of the server is whole.
        assert len(ask_for_candidates(language, PROMPT, fewest=15, tries=1)) == 15


def test_a_dropped_connection_is_asked_again(endpoint):
    with serving("dropped") as server:
        assert endpoint(server).answer("who?").startswith('{"attributes"')
    assert len(server.asked) == 3


def test_a_message_with_the_key_is_not_shown(endpoint):
    with serving("denied") as server, pytest.raises(LanguageError, match="HTTP 401") as told:
        endpoint(server).answer("who?")
    assert KEY not in str(told.value)
    assert told.value.__cause__ is None


@pytest.mark.parametrize("fault", ["shows_key", "shows_key_escaped"])
def test_an_answer_with_the_key_is_not_taken(endpoint, fault):
    with serving(fault) as server:
        language = endpoint(server)
        with pytest.raises(MalformedAnswerError, match="contains the key and is not shown"):
            language.answer("who?")
        named = ask_for_candidates(language, PROMPT, fewest=15, tries=2)
    assert [one.name for one in named] == [f"thing {k}" for k in range(15)]
    assert KEY not in "".join(body["messages"][0]["content"] for _, body in server.asked)


def test_a_word_instead_of_a_key_is_no_secret(endpoint):
    with serving() as server:
        language = endpoint(server, key="thing")
        assert len(ask_for_candidates(language, PROMPT, fewest=15, tries=1)) == 15


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(paid_requests, "TRIES", 2)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:{KEY}@127.0.0.1:9/v1")
    with pytest.raises(LanguageError) as told:
        load(LoadOptions(source="m")).answer("who?")
    assert str(told.value).startswith("openai:m at 127.0.0.1:9: ConnectError: ")
    assert str(told.value).endswith(
        "(after 2 attempts). Check that the endpoint is running and that its address is right."
    )
    assert KEY not in str(told.value)


def test_it_is_said_why_a_busy_endpoint_is_asked_again(endpoint, monkeypatch, capsys):
    monkeypatch.setattr(paid_requests, "SAID_FROM", 0.0)
    with serving("busy") as server:
        endpoint(server).answer("who?")
        place = f"127.0.0.1:{server.server_port}"
    said = capsys.readouterr().err
    assert said.startswith(f"openai:m at {place}: attempt 1: HTTP 429: slow down")
    assert KEY not in said


@pytest.mark.parametrize(
    ("fault", "requests"),
    [("busy", 3), ("server_error", 3), ("dropped", 3), ("denied", 1), ("truncated", 1)],
)
def test_what_is_asked_again(endpoint, fault, requests):
    with serving(fault) as server:
        with suppress(LanguageError):
            endpoint(server).answer("who?")
        assert len(server.asked) == requests


@pytest.mark.parametrize(
    ("url", "got"),
    [
        ("http://127.0.0.1:notaport/v1", "'http://127.0.0.1:notaport/v1'"),
        ("http://127.0.0.1:99999/v1", "'http://127.0.0.1:99999/v1'"),
        ("127.0.0.1:8000/v1", "'127.0.0.1:8000/v1'"),
        ("ftp://127.0.0.1/v1", "'ftp://127.0.0.1/v1'"),
        ("http://[::1/v1", r"'http://\[::1/v1'"),
        ("http:///v1", "'http:///v1'"),
        ("http://a b/v1", "'http://a b/v1'"),
        ("http://me:hidden@127.0.0.1:x/v1?token=hidden", "'127.0.0.1:x/v1'"),
        (f"http://127.0.0.1:{KEY}/v1", "one that holds the key"),
    ],
)
def test_what_is_no_address(monkeypatch, url, got):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    expected = f"OPENAI_BASE_URL: expected an address such as .*, got {got}: correct"
    with pytest.raises(ConfigurationError, match=expected) as told:
        load(LoadOptions(source="m"))
    assert KEY not in str(told.value)
    assert "hidden" not in str(told.value)


@pytest.mark.parametrize("blank", [None, "", " "])
def test_without_an_address_it_is_openai(monkeypatch, blank):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    if blank is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", blank)
    language = load(LoadOptions(source="m"))
    assert str(language) == "openai:m at api.openai.com"
    assert language.fingerprint == digest(["openai", "https://api.openai.com/v1/", "m"])


def test_without_a_key_or_a_model(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="needs the environment variable OPENAI_API_KEY"):
        load(LoadOptions(source="m"))
    with pytest.raises(T2IError, match="expected the name of a model"):
        load(LoadOptions())
    monkeypatch.setenv("OPENAI_API_KEY", "two\nlines")
    with pytest.raises(ConfigurationError, match="printable ASCII"):
        load(LoadOptions(source="m"))
