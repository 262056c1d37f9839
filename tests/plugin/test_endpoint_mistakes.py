"""What users of a model behind HTTP get wrong, or what answers in its place: one line each."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip("openai")
pytest.importorskip("huggingface_hub")

from image_server import serving

from pytest_t2i.adapters.endpoints import paid_requests

KEY = "sk-very-secret-0123"
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse"), images=2)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 1.0)
"""
DOWN = "Check that the endpoint is running and that its address is right."
NO_PICTURES = "Check that the address is that of a text-to-image model."


@pytest.fixture
def endpoint(project, monkeypatch):
    project.write({"test_suite.py": SUITE})
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)
    return project


def mistake(endpoint, *arguments, model):
    """The one line that a run ends with."""
    result = endpoint.run("--t2i-answer-deadline", "5", *arguments, model=model)
    told = " ".join((result.stdout.str() + result.stderr.str()).split())
    assert result.ret == pytest.ExitCode.USAGE_ERROR, told
    assert "Traceback" not in told
    assert KEY not in told
    assert told.count("ERROR: ") == 1, told
    assert "version of" not in told
    return told.partition("ERROR: ")[2]


@pytest.mark.parametrize("name", ["openai:fake@{}/v1", "hf:{}/hf"])
def test_a_server_that_is_down(endpoint, name):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{free.getsockname()[1]}"
        told = mistake(endpoint, model=name.format(origin))
    assert "Connection refused (after 8 attempts)" in told
    assert told.rstrip("= ").endswith(DOWN)


def test_a_host_that_there_is_not(endpoint):
    told = mistake(endpoint, model="openai:fake@http://nowhere.invalid/v1")
    assert told.startswith("openai:fake at nowhere.invalid: ConnectError:")
    assert DOWN in told


NO_SUCH_SIZE = "HTTP 400: Invalid value: {}. Supported values are: '1024x1024'."


@pytest.mark.parametrize(
    ("answers", "openai", "hf"),
    [
        ("html", "expected JSON, got text/html; check that the base URL is that of the ser", None),
        ("text", "expected JSON, got text/plain; check that the base URL is that of the ser", None),
        (
            "empty",
            f"no valid JSON (JSONDecodeError) (after 3 attempts). What {{}}{NO_PICTURES}",
            "",
        ),
        (
            "elsewhere",
            "HTTP 307: expected a picture, got a redirect to example.org; if that host is right",
            None,
        ),
        ("bad_size", NO_SUCH_SIZE.format("'123x77'"), "'width': 123"),
        ("gone", "HTTP 404: The model fake does not exist.", "HTTP 404: The model"),
        ("denied", "HTTP 401: wrong key [hidden].", None),
        ("no_money", "HTTP 429: You exceeded your current quota.", None),
    ],
)
def test_what_answers_is_no_model_or_does_not_want_to(endpoint, answers, openai, hf):
    with serving(always=answers) as server:
        size = ("--t2i-size", "123x77")
        told = mistake(endpoint, *size, model=f"openai:fake@{server.url}")
        assert openai.format("was made before is kept. ") in told
        told = mistake(endpoint, *size, model=f"hf:{server.origin}/hf")
        assert (openai if hf is None else hf) in told
    assert "What was made before is kept." in told


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("--t2i-budget", "5 USD"),
            '--t2i-budget needs the price of an image: --t2i-price "0.04 USD", or price in the',
        ),
        (("--t2i-budget", "5"), "--t2i-budget: expected an amount and a currency such as"),
        (("--t2i-price", "0.04"), "--t2i-price: expected an amount and a currency such as"),
        (("--t2i-price", "0 USD"), "--t2i-price: expected a price above 0, got '0 USD'"),
        (("--t2i-price", "4 XYZ"), "--t2i-price: unknown currency 'XYZ': expected a code"),
        (
            ("--t2i-price", "0.04 USD", "--t2i-budget", "5 EUR"),
            "--t2i-budget: expected an amount in USD, as an image costs 0.04 USD, got 5 EUR",
        ),
        (("--t2i-size", "big"), "--t2i-size: expected pixels such as 512 or 768x512, got 'big'"),
        (("--t2i-size", "0x9"), "--t2i-size: expected at least 1, got 0"),
        (("--t2i-concurrency", "0"), "--t2i-concurrency: expected at least 1, got 0"),
        (("--t2i-probe", "maybe"), "--t2i-probe: expected once or again or never, got 'maybe'"),
    ],
)
def test_an_option_that_is_wrong_asks_for_nothing(endpoint, arguments, expected):
    with serving() as server:
        assert expected in mistake(endpoint, *arguments, model=f"openai:fake@{server.url}")
        assert server.asked == []


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai:m", "openai:m at api.openai.com needs a key: set the environment variable OPENAI"),
        ("openai:m@https://api.example.com/v1", "openai:m at api.example.com needs a key"),
        ("hf:fal-ai/a/b", "needs a key: set the environment variable HF_TOKEN"),
        (
            "hf:fal-ai",
            "hf: expected a provider and a model, got 'fal-ai'. Use --t2i-model hf:PROVIDER/MODEL",
        ),
        ("openai:", "openai: expected the name of a model, got none: use --t2i-model"),
        ("openai:@http://x/v1", "openai: expected the name of a model, got none: use --t2i-model"),
        ("openai:m@127.0.0.1:80", "expected a base URL that begins with http:// or https://"),
        ("openai:m@ftp://x/v1", "expected a base URL that begins with http:// or https://"),
        ("openai:m@http://me:pw@x/v1", "expected an address without user, query and fragment"),
    ],
)
def test_a_key_that_is_missing_and_a_name_that_is_none(endpoint, monkeypatch, model, expected):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("HF_TOKEN")
    assert expected in mistake(endpoint, model=model)


def test_a_redirect_takes_no_prompt_to_another_public_host(endpoint, monkeypatch):
    """The host is another name of this machine, which counts as a public one here."""

    from pytest_t2i.adapters.endpoints import http_client

    monkeypatch.setattr(http_client, "is_public", lambda literal: True)
    with serving() as other, serving(always="elsewhere") as server:
        server.elsewhere = f"localhost:{other.server_port}"
        told = mistake(endpoint, model=f"hf:{server.origin}/hf")
        assert (
            f"HTTP 307: expected a picture, got a redirect to localhost:{other.server_port}" in told
        )
        assert other.asked == []
