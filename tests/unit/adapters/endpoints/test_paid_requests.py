"""Every service behind HTTP on servers that misbehave: time, size, secrets, what is repeated."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("httpx")
pytest.importorskip("openai")

from dripping_server import dripping
from PIL import Image

from pytest_t2i.adapters.detectors import facepp, vlm
from pytest_t2i.adapters.detectors.judging import JudgeRun
from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.adapters.endpoints.services import openai_images
from pytest_t2i.adapters.endpoints.spending import Spending
from pytest_t2i.adapters.languages.endpoint import ChatEndpoint
from pytest_t2i.data import Money, Request
from pytest_t2i.errors import T2IError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

KEY, SECRET = "sk-very-secret-0123", "another-secret-4567"
LIMITS = AnswerLimits(seconds=0.6, megabytes=0.25, at_once=1)
PICTURE = Image.fromarray(np.arange(64 * 64 * 3, dtype=np.uint32).reshape(64, 64, 3).astype("u1"))


class User(NamedTuple):
    """A user of the client: it asks once for what it asks of its service."""

    ask: Callable[[], object]
    spend: Callable[[Spending], None]


def images(url: str) -> User:
    model = openai_images.load(LoadOptions(source=f"m@{url}", answers=LIMITS))
    return User(
        lambda: list(model.generate([Request("a nurse", 0)])),
        lambda spending: setattr(model, "spending", spending),
    )


def judge(url: str) -> User:
    panel = vlm.load(LoadOptions(source=f"m@{url}", answers=LIMITS)).panel
    return User(
        lambda: panel.judge([PICTURE]), lambda spending: setattr(panel.run, "spending", spending)
    )


def face(url: str) -> User:
    detector = facepp.load(LoadOptions(source=url, answers=LIMITS))
    return User(
        lambda: detector.detect([PICTURE]),
        lambda spending: detector.join(JudgeRun(spending=spending)),
    )


def language(url: str) -> User:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", url)
        endpoint = ChatEndpoint("m", LIMITS)
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {}}}
    return User(
        lambda: endpoint.ask("who?", response_format=schema),
        lambda spending: None,
    )


USERS = {"images": images, "judge": judge, "face++": face, "language": language}
PRICED = ("images", "judge", "face++")
"""Users whose requests may have a price in a run."""


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    for name in ("OPENAI_API_KEY", "VLM_API_KEY", "FACEPP_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("FACEPP_API_SECRET", SECRET)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)


class Reply(NamedTuple):
    status: int
    body: bytes = b"{}"
    headers: Mapping[str, str] = MappingProxyType({})


@contextmanager
def answering(*replies: Reply) -> Iterator[Any]:
    """A server that gives these replies in turn, the last one from then on."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            server.asked += 1
            reply = replies[min(server.asked, len(replies)) - 1]
            self.send_response(reply.status)
            for name, words in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, words)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.url = 0, f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def problem(user: User) -> str:
    """The message of the error that asking ends in, which shows no secret."""
    with pytest.raises(T2IError) as ended:
        user.ask()
    text = str(ended.value)
    assert KEY not in text
    assert SECRET not in text
    return text


@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize("way", ["dripping_body", "dripping_headers", "silent"])
def test_a_server_that_does_not_end_is_given_up_at_the_deadline(name, way):
    with dripping(way) as server:
        began = time.monotonic()
        assert "no complete answer in 0." in problem(USERS[name](server.url))
        assert time.monotonic() - began < 4 * LIMITS.seconds


@pytest.mark.parametrize("name", USERS)
def test_an_endless_body_is_cut(name):
    with dripping("endless_body") as server:
        assert "at most 0.25 MiB" in problem(USERS[name](server.url))
        assert server.connections == paid_requests.TRIES_OF_BROKEN


@pytest.mark.parametrize("name", USERS)
def test_what_unpacks_to_very_much_is_not_unpacked(name):
    with dripping("packed") as server:
        assert len(problem(USERS[name](server.url))) < 1000


@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_elsewhere_is_not_followed(name, status):
    with answering(Reply(200)) as elsewhere:
        redirect = Reply(status, headers={"Location": f"{elsewhere.url}/{KEY}"})
        with answering(redirect) as server:
            assert "redirect" in problem(USERS[name](server.url))
            assert (server.asked, elsewhere.asked) == (1, 0)


@pytest.fixture
def _patience(monkeypatch):
    """Time for every try, on a busy machine, too."""
    monkeypatch.setitem(globals(), "LIMITS", AnswerLimits(seconds=60, megabytes=0.25, at_once=1))


@pytest.mark.usefixtures("_patience")
@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_repeated_where_no_price_is_known(name, status):
    with answering(Reply(status, KEY.encode())) as server:
        problem(USERS[name](server.url))
        assert server.asked == paid_requests.TRIES


@pytest.mark.usefixtures("_patience")
@pytest.mark.parametrize("name", PRICED)
@pytest.mark.parametrize(
    ("reply", "requests"),
    [
        (Reply(429), paid_requests.TRIES),
        (Reply(503), paid_requests.TRIES),
        (Reply(500), 1),
        (Reply(502), 1),
        (Reply(401), 1),
        (Reply(200, b'{"faces": [', {}), 1),
        (Reply(200, b"[[]]"), 1),
    ],
    ids=lambda value: str(getattr(value, "status", value)),
)
def test_a_request_with_a_price_is_repeated_only_where_nothing_was_charged(
    tmp_path, name, reply, requests
):
    with answering(reply) as server:
        user = USERS[name](server.url)
        user.spend(Spending(tmp_path / "spent", Money.read("1 USD"), Money.read("50 USD")))
        problem(user)
        assert server.asked == requests
    charged = Spending(tmp_path / "spent", Money.read("1 USD")).count.requests
    assert charged == (0 if reply.status in (401, 429, 503) else 1)


@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize(
    "body",
    [b"", b"[", b"null", b"5", b'"words"', b'{"data": 5, "choices": 5, "faces": 5}', b"\xff\xfe"],
)
def test_wrong_json_ends_in_a_message(name, body):
    with answering(Reply(200, body)) as server:
        problem(USERS[name](server.url))
        assert server.asked <= paid_requests.TRIES_OF_BROKEN


@pytest.mark.parametrize("name", USERS)
def test_no_request_is_sent_for_a_controller_that_is_gone(monkeypatch, name):
    paid_requests.work_for_parent()
    monkeypatch.setattr(paid_requests, "_controller", [*paid_requests._controller])
    monkeypatch.setattr("os.getppid", lambda: 1)
    with answering(Reply(500)) as server:
        user = USERS[name](server.url)
        with pytest.raises(KeyboardInterrupt):
            user.ask()
        assert server.asked == 0
