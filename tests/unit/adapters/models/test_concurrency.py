"""Several pictures at a time: as fast as the endpoint allows, none lost, one message."""

from __future__ import annotations

import socket
import threading
import time
from itertools import pairwise

import pytest

pytest.importorskip("openai")
pytest.importorskip("huggingface_hub")

from image_server import drawn, serving

from pytest_t2i import EndpointModel
from pytest_t2i.adapters.endpoints import http_client, paid_requests
from pytest_t2i.adapters.endpoints.services import hugging_face, openai_images
from pytest_t2i.adapters.endpoints.spending import Spending
from pytest_t2i.adapters.picture_files import picture_in
from pytest_t2i.data import Money, Request
from pytest_t2i.errors import BudgetSpentError, ConfigurationError, GenerationError
from pytest_t2i.generation.batch_size import BatchSize
from pytest_t2i.generation.executors import InProcess
from pytest_t2i.protocols import AnswerLimits, LoadOptions, MakesEach

REQUESTS = [Request("a nurse", seed) for seed in range(24)]
LIMITS = AnswerLimits(seconds=10.0, megabytes=0.5)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    monkeypatch.setenv("HF_TOKEN", "hf_very-secret-0123")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)


@pytest.fixture(params=["openai", "hf"])
def connect(request):
    def loaded(server, limits=LIMITS):
        if request.param == "openai":
            return openai(server, limits)
        return hugging_face.load(LoadOptions(source=f"{server.origin}/hf", answers=limits))

    return loaded


def openai(server, limits=LIMITS):
    return openai_images.load(LoadOptions(source=f"m@{server.url}", answers=limits))


def executed(model, requests):
    """What the executor hands over, and the error that it ends with."""
    made, error = [], None
    try:
        made.extend(
            InProcess("m", lambda: model, BatchSize(4), print).run(requests)
        )  # keeps what came before
    except (GenerationError, ConfigurationError) as told:
        error = told
    return made, error


def assert_right(made):
    for request, generated in made:
        expected = picture_in(drawn(request.prompt, request.seed))
        assert generated.image.tobytes() == expected.tobytes()


def test_all_come_each_with_its_own_picture(connect):
    with serving(always="limited") as server:
        server.limit = 99
        model = connect(server)
        assert isinstance(model, MakesEach)
        made, error = executed(model, REQUESTS)
    assert error is None
    assert sorted(request.seed for request, _ in made) == [r.seed for r in REQUESTS]
    assert_right(made)
    assert 2 < server.most <= 8


def test_generate_keeps_the_order(connect):
    with serving(*["slow", None] * 4, slow=0.2) as server:
        made = list(connect(server).generate(REQUESTS[:8]))
    assert_right(zip(REQUESTS, made, strict=False))


def test_no_more_are_asked_for_than_told():
    with serving(always="limited") as server:
        server.limit = 99
        list(openai(server, AnswerLimits(10.0, 0.5, at_once=3)).generate(REQUESTS))
        assert server.most == 3
        server.most = 0
        list(openai(server, AnswerLimits(10.0, 0.5, at_once=1)).generate(REQUESTS[:4]))
        assert server.most == 1


def test_it_adapts_to_a_server_that_takes_two_at_a_time(connect):
    with serving(always="limited") as server:
        made, error = executed(connect(server), REQUESTS)
    assert error is None
    assert len(made) == 24
    assert_right(made)
    assert server.most <= 8
    # It tries a third one now and then, and is told no.
    assert len(server.asked) < 3 * 24


def test_a_wait_that_is_asked_for_is_obeyed_by_all():
    times = []

    class Painter(EndpointModel):
        service = "painter"

        def ask(self, request, seconds):
            with lock:
                times.append(time.monotonic())
                number = len(times)
            if number == 3:
                raise self.fault(429, "slow down", retry_after="0.6")
            return drawn(request.prompt, request.seed)

    lock = threading.Lock()
    assert len(list(Painter("p", "http://127.0.0.1:1/v1").generate(REQUESTS[:12]))) == 12
    # One or two were under way when it was told; then nobody asks.
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert max(gaps) > 0.5
    assert len([gap for gap in gaps if gap > 0.3]) == 1


def test_a_wait_is_told_once(capfd, monkeypatch):
    monkeypatch.setattr(paid_requests, "SAID_FROM", 0.0)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.5)
    with serving("dropped", "dropped") as server:
        assert len(list(openai(server).generate(REQUESTS[:2]))) == 2
    assert capfd.readouterr().err.count("the next one") == 1


def test_an_error_loses_nothing_that_is_under_way_and_is_told_once(connect):
    with serving(None, "slow", "slow", "denied", always="denied", slow=0.3) as server:
        made, error = executed(connect(server), REQUESTS)
    assert "HTTP 401" in str(error)
    assert len(made) == 3
    assert_right(made)
    # None is asked for after the error, besides what was under way.
    assert len(server.asked) <= 6


def test_a_try_that_is_given_up_breaks_no_other(connect):
    limits = AnswerLimits(seconds=1.6, megabytes=0.5)
    with serving("dripping", "slow", "dripping", always=None, slow=0.6) as server:
        made, error = executed(connect(server, limits), REQUESTS[:8])
    assert error is None
    assert len(made) == 8
    assert_right(made)
    assert len(server.asked) == 10


def test_what_a_server_does_not_know_is_learnt_by_all_at_once():
    with serving(always="strict") as server:
        made = list(openai(server).generate(REQUESTS))
    assert len(made) == 24
    assert sorted(server.bodies[-1]) == ["model", "n", "prompt"]


def test_three_broken_in_a_row_end_the_run(connect):
    with serving(None, None, always="broken") as server:
        made, error = executed(connect(server), REQUESTS)
    assert "expected a picture in the answer, got none" in str(error)
    kept = [generated for _, generated in made if generated.image is not None]
    assert len(kept) == 2


def test_no_request_is_sent_that_no_money_is_left_for(connect, tmp_path):
    with serving(always="limited") as server:
        server.limit = 99
        model = connect(server)
        model.spending = Spending(tmp_path / "s", Money.read("1 USD"), Money.read("10 USD"))
        made, error = executed(model, REQUESTS)
        assert len(server.asked) == 10
    assert isinstance(error, BudgetSpentError)
    assert len(made) == 10


def test_a_mistake_in_a_class_of_ones_own_is_told_with_its_line():
    class Mistaken(EndpointModel):
        service = "mistaken"

        def ask(self, request, seconds):
            raise KeyError("pictures")

    made, error = executed(Mistaken("p", "http://127.0.0.1:1/v1"), REQUESTS)
    assert made == []
    assert "model 'm' failed: KeyError: 'pictures'" in str(error)
    assert "test_concurrency.py, line" in str(error)


def test_what_is_there_when_it_is_interrupted_is_handed_over():
    with serving() as server:
        model = openai(server)
        made = []
        get = model.each(REQUESTS)
        made.append(next(get))
        time.sleep(0.3)  # others land meanwhile
        made.append(get.throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            made.extend(get)
    assert len(made) > 1
    assert_right(made)


# the address that was looked at


def lookups(monkeypatch, answers):
    """Names that were looked up; each leads to the next address of its list."""
    asked = []

    def look_up(name, port, *more, **further):
        if name not in answers:
            return real(name, port, *more, **further)
        asked.append(name)
        address = answers[name].pop(0) if len(answers[name]) > 1 else answers[name][0]
        return [(2, 1, 6, "", (address, port))]

    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(http_client, "proxy_of", lambda address: None)
    return asked


@pytest.mark.parametrize("path", ["", "/moved#"])
def test_a_name_that_leads_inside_is_refused_once_it_is_connected(monkeypatch, path):
    with serving(always="url_elsewhere") as server:
        server.elsewhere = f"pictures.example:{server.server_port}{path}"
        asked = lookups(monkeypatch, {"pictures.example": ["127.0.0.1"]})
        with pytest.raises(
            GenerationError, match=r"refers to pictures\.example:\d+: expected a public host"
        ):
            list(openai(server).generate(REQUESTS[:1]))
        assert asked
        assert server.fetched == []


def test_a_public_name_is_fetched_without_the_key(monkeypatch):
    with serving(always="url_elsewhere") as server:
        server.elsewhere = f"pictures.example:{server.server_port}/moved#"
        lookups(monkeypatch, {"pictures.example": ["127.0.0.1"]})
        monkeypatch.setattr(http_client, "is_public", lambda literal: literal != "10.0.0.1")
        (made,) = openai(server).generate(REQUESTS[:1])
        assert made.image.tobytes() == picture_in(drawn("a", 1)).tobytes()
    named = f"pictures.example:{server.server_port}"
    assert [headers["host"] for _, headers in server.fetched] == [named, named]
    assert not any("authorization" in headers for _, headers in server.fetched)
