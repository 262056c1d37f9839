"""Every client of a server gives up at its deadline, and takes no more than its limit."""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest

pytest.importorskip("httpx")
pytest.importorskip("openai")
pytest.importorskip("huggingface_hub")

from dripping_server import WAYS, dripping
from llm_server import serving

from pytest_t2i.adapters.detectors.facepp import Client, Credentials
from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.adapters.endpoints.deadlines import WAITING, TimedCall, within
from pytest_t2i.adapters.endpoints.services import hugging_face, openai_images
from pytest_t2i.adapters.languages.endpoint import ChatEndpoint
from pytest_t2i.data import Request
from pytest_t2i.errors import DetectorError, GenerationError, LanguageError, MalformedAnswerError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

LIMITS = AnswerLimits(seconds=0.6, megabytes=0.5)
GENEROUS = AnswerLimits(seconds=60.0, megabytes=0.5)
KEY = "sk-very-secret-0123"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)


def language(monkeypatch, url, limits):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    return ChatEndpoint("m", limits)


@pytest.mark.parametrize("way", ["dripping_body", "dripping_headers", "silent"])
def test_a_language_model_that_does_not_end_is_given_up(monkeypatch, way):
    with dripping(way) as server:
        asked = language(monkeypatch, server.url, LIMITS)
        for _ in range(2):  # the second question goes over a new connection
            with pytest.raises(
                LanguageError, match=r"no complete answer in 0\..*--t2i-answer-deadline"
            ):
                asked.ask("who?")
        assert server.wait_for(2)
        assert server.connections <= 4  # one or two in half of the time


def test_a_language_model_that_sends_without_end_is_cut_off(monkeypatch):
    with dripping("endless_body") as server:
        asked = language(monkeypatch, server.url, GENEROUS)
        with pytest.raises(LanguageError, match=r"at most 0\.5 MiB"):
            asked.ask("who?")
        assert server.connections == paid_requests.TRIES_OF_BROKEN


def test_what_unpacks_to_more_is_not_unpacked(monkeypatch):
    with dripping("packed") as server:
        asked = language(monkeypatch, server.url, GENEROUS)
        with pytest.raises(MalformedAnswerError, match="no whole JSON"):
            asked.ask("who?")


def test_an_answer_within_the_limits_is_taken(monkeypatch):
    with serving("no_fault") as server:
        asked = language(monkeypatch, server.url, GENEROUS)
        assert asked.ask("who?").startswith('{"attributes"')


@pytest.mark.parametrize("way", WAYS)
def test_a_detection_service_that_does_not_end_is_given_up(way):
    limits = GENEROUS if way in ("endless_body", "packed") else LIMITS
    with dripping(way) as server:
        client = Client(server.url, Credentials("a" * 20, "b" * 20), limits)
        with pytest.raises(DetectorError) as told:
            client.detect(b"picture")
    expected = {"endless_body": "at most 0.5 MiB", "packed": "answered"}
    assert expected.get(way, "no complete answer in 0.") in str(told.value)


def test_within_passes_on_what_is_raised():
    def fail():
        raise KeyError("as it is")

    with pytest.raises(KeyError, match="as it is"):
        within(5.0, fail)


def waiting():
    """Threads that wait for an answer."""
    return sum(thread.name.startswith(WAITING) for thread in threading.enumerate())


@pytest.mark.parametrize("way", ["dripping_body", "dripping_headers", "silent"])
@pytest.mark.parametrize("service", ["openai", "hf"])
def test_no_thread_waits_beyond_the_deadline(monkeypatch, way, service):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", KEY)
    limits = AnswerLimits(seconds=0.7, megabytes=0.5)
    before = waiting()
    with dripping(way) as server:
        source, load = {
            "openai": (f"m@{server.url}/v1", openai_images.load),
            "hf": (server.url, hugging_face.load),
        }[service]
        model = load(LoadOptions(source=source, answers=limits))
        with pytest.raises(GenerationError, match=r"no complete answer|Timeout"):
            list(model.generate([Request("a nurse", 0)]))
        # The server drips on; whoever waited for it has gone.
        until = time.monotonic() + 2.0
        while waiting() > before and time.monotonic() < until:
            time.sleep(0.02)
        assert waiting() <= before


def test_a_connection_that_is_made_too_late_is_ended_too():
    with dripping("dripping_headers") as server:
        host, port = server.url.removeprefix("http://").split(":")
        call = TimedCall(5.0)
        call.end()
        made = socket.create_connection((host, int(port)))
        stream = SimpleNamespace(get_extra_info=lambda name: made)
        call.trace("connection.connect_tcp.complete", {"return_value": stream})
        with made, suppress(OSError):
            assert made.recv(1) == b""


def test_what_a_library_logs_of_a_call_is_dropped(caplog):
    logger = logging.getLogger("httpx")
    with caplog.at_level(logging.DEBUG):
        within(5.0, lambda: logger.warning("of a call"))
        logger.warning("of the user")
    assert caplog.messages == ["of the user"]
