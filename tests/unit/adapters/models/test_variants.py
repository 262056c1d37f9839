"""Harmless variants of an answer are taken; a broken one is a broken picture, which was paid."""

from __future__ import annotations

import base64
import io
import json
import time
from email.utils import formatdate

import pytest

pytest.importorskip("openai")
pytest.importorskip("huggingface_hub")

import httpx
from image_server import drawn, serving
from PIL import Image

from pytest_t2i import EndpointModel
from pytest_t2i.adapters.endpoints import http_client, paid_requests
from pytest_t2i.adapters.endpoints.answers import fault
from pytest_t2i.adapters.endpoints.services import hugging_face, openai_images
from pytest_t2i.adapters.endpoints.spending import Spending
from pytest_t2i.data import Money, Request
from pytest_t2i.errors import BudgetSpentError, GenerationError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

KEY = "sk-very-secret-0123"
REQUESTS = [Request("a nurse", seed) for seed in range(4)]
QUICK = AnswerLimits(seconds=20.0, megabytes=0.5, at_once=1)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", KEY)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)


def openai(server, limits=QUICK):
    return openai_images.load(LoadOptions(source=f"m@{server.url}", answers=limits))


def of_hub(server, limits=QUICK):
    return hugging_face.load(LoadOptions(source=f"{server.origin}/hf", answers=limits))


@pytest.fixture(params=[openai, of_hub])
def connect(request):
    return request.param


def pixels(made):
    return [one.image.tobytes() for one in made]


def expected(requests=REQUESTS):
    return [Image.open(io.BytesIO(drawn(r.prompt, r.seed))).tobytes() for r in requests]


# Retry-After


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2, 7", None), (" 3 ", 3.0), ("2s", None), ("+4", 4.0),
        ("-0", 0.0), ("1e3", None), ("nan", None), ("inf", None), ("-inf", None), ("1e999", None),
        ("9" * 400, None), ("99999999999", None), ("", None), (" ", None), (",", None),
        ("0x10", None), ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", None),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None), ("Wed, 21 Oct 2015 77:28:00 GMT", None),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0), ("Sun Nov  6 08:49:37 1994", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", None), ("Wed, 21 Oct 2015 07:28:00 +9999999", None),
        ("Wed, 21 Oct 0000 07:28:00 GMT", 0.0), ("tomorrow", None), ("\u0667", None),
        ("," * 9999, None), (10, 10.0),
    ],
)  # fmt: skip
def test_retry_after(header, seconds):
    assert fault(429, "", "", header).after == seconds


def test_a_date_to_come():
    for zone in ("GMT", "+0000"):
        date = formatdate(time.time() + 60, usegmt=True).replace("GMT", zone)
        assert 50 < fault(429, "", "", date).after <= 60


@pytest.mark.parametrize(
    "header", ["nan", "inf", "9" * 30, "Wed, 21 Oct 99999999999999999999 07:28:00 GMT", "soon", ""]
)
def test_a_wait_that_is_none_is_not_waited(connect, header):
    with serving("written", None, "written") as server:
        server.answer = 429, {}, {"Retry-After": header}
        started = time.monotonic()
        assert pixels(connect(server).generate(REQUESTS)) == expected()
    assert len(server.asked) == 6
    assert time.monotonic() - started < 5


# addresses of pictures

BROKEN = [
    "http://[::1", "http://", "https://", "//", "http://:80/x.png", "http://host:port/x.png",
    "http://host:99999/x.png", "http://a b/x.png", "http://nowhere.invalid/x.png",
    "http://" + "a" * 300 + ".invalid/x.png", "http://..", "http://a..b/x.png", "ftp://host/x.png",
    "file:///etc/passwd", "javascript:alert(1)", "data:", "data:image/png;base64,?", " ",
    "http://%zz/x.png", "http://\u0661.invalid/x.png", "http://xn--/x.png", "\x00", "http://\x7f/",
]  # fmt: skip


@pytest.mark.parametrize("url", BROKEN)
def test_one_broken_address_is_one_broken_picture(url):
    with serving(None, "written") as server:
        server.answer = 200, {"data": [{"url": url}]}, {}
        assert pixels(openai(server).generate(REQUESTS)) == expected()
    assert len(server.asked) == 5


@pytest.mark.parametrize("url", BROKEN[:9])
def test_a_broken_address_that_stays_is_one_unreadable_picture(url):
    with serving(None, "written", "written", "written") as server:
        server.answer = 200, {"data": [{"url": url}]}, {}
        made = list(openai(server).generate(REQUESTS))
    assert [one.image is None for one in made] == [False, True, False, False]
    assert made[1].refusal.startswith("unreadable: ")


@pytest.mark.parametrize(
    "url",
    ["/pictures/a/1", "../../pictures/a/1", "{origin}/pictures/a/1", " {origin}/pictures/a/1\n",
     "//{netloc}/pictures/a/1", "/pictures/a/1?x=[1]#y", "HTTP://{netloc}/pictures/a/1"],
)  # fmt: skip
def test_an_address_is_resolved_against_that_of_the_answer(url):
    with serving("written") as server:
        netloc = f"127.0.0.1:{server.server_port}"
        url = url.format(origin=server.origin, netloc=netloc)
        server.answer = 200, {"data": [{"url": url}]}, {}
        asked = [Request("a", 1)]
        if "?" in url:  # the server knows no query
            url = url.partition("?")[0]
            server.answer = 200, {"data": [{"url": url}]}, {}
        assert pixels(openai(server).generate(asked)) == expected(asked)
    assert server.fetched[0][1].get("authorization") is None


@pytest.mark.parametrize(
    "url", ["//169.254.169.254/latest", "http://10.0.0.1/x.png", "http://[::1]/"]
)
def test_a_resolved_address_is_that_of_an_allowed_host(url):
    with serving("written") as server:
        server.answer = 200, {"data": [{"url": url}]}, {}
        with pytest.raises(GenerationError, match="expected a public host"):
            list(openai(server).generate(REQUESTS))
    assert len(server.asked) == 1


# base64


def noise():
    buffer = io.BytesIO()
    Image.effect_noise((40, 40), 90).convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()


PICTURE = noise()
PLAIN = base64.b64encode(PICTURE).decode()


@pytest.mark.parametrize(
    "text",
    [
        PLAIN, PLAIN.rstrip("="), PLAIN + "==", base64.urlsafe_b64encode(PICTURE).decode(),
        base64.urlsafe_b64encode(PICTURE).decode().rstrip("="),
        base64.encodebytes(PICTURE).decode(),
        PLAIN.replace("A", "A\r\n "), f"data:image/png;base64,{PLAIN}", f"data:;base64, {PLAIN}\n",
        f"data:image/png;base64,{PLAIN.replace('+', '%2B').replace('=', '%3D')}",
        f"DATA:image/png;base64,{base64.urlsafe_b64encode(PICTURE).decode()}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["b64_json", "url"])
def test_base64_in_all_its_forms(text, field):
    if field == "url" and not text.lower().startswith("data:"):
        text = f"data:image/png;base64,{text}"
    with serving("written") as server:
        server.answer = 200, {"data": [{field: text}]}, {}
        (made,) = openai(server).generate(REQUESTS[:1])
    assert made.image.tobytes() == Image.open(io.BytesIO(PICTURE)).tobytes()


@pytest.mark.parametrize(
    "text",
    ["?", "A", PLAIN[:60], "\u00e4" * 8, PLAIN + "!", "=" * 9],
    ids=["mark", "letter", "cut", "umlauts", "tail", "padding"],
)
def test_what_is_no_base64_is_a_broken_picture(text):
    with serving(None, "written") as server:
        server.answer = 200, {"data": [{"b64_json": text}]}, {}
        assert pixels(openai(server).generate(REQUESTS)) == expected()
    assert len(server.asked) == 5


# redirects


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("where", ["{origin}{path}", "{path}", "//{netloc}{path}", "{path}?x=1"])
def test_a_redirect_on_the_same_host_is_followed(connect, status, where):
    with serving("written") as server:
        model = connect(server)
        path = "/v1/images/generations" if connect is openai else "/hf"
        netloc = f"127.0.0.1:{server.server_port}"
        target = where.format(origin=server.origin, path=path, netloc=netloc)
        server.answer = status, "", {"Location": target}
        assert pixels(model.generate(REQUESTS[:1])) == expected(REQUESTS[:1])
    assert server.bodies[0] == server.bodies[1]
    assert server.asked[1][1]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "where",
    ["http://localhost:{other}/v1/images/generations", "//127.0.0.1:{other}/x", "http://[::1", "",
     "http://127.0.0.1:{other}@127.0.0.1:{port}.invalid/", "https://127.0.0.1:{port}/v1"],
)  # fmt: skip
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_other_redirect_is_followed(connect, status, where):
    with serving() as other, serving(always="written") as server:
        target = where.format(other=other.server_port, port=server.server_port)
        server.answer = status, "", {"Location": target} if where else {}
        with pytest.raises(GenerationError, match=f"HTTP {status}") as told:
            list(connect(server).generate(REQUESTS))
        assert KEY not in str(told.value)
        assert other.asked == []
    assert len(server.asked) == 1


def test_a_redirect_to_a_page_is_told(connect):
    with serving(always="written") as server:
        server.answer = 302, "", {"Location": "/login"}
        with pytest.raises(GenerationError, match=r"got a redirect to http://127\S+/login"):
            list(connect(server).generate(REQUESTS))
    assert len(server.asked) == 1


def test_a_redirect_without_end_is_told():
    with serving(always="written") as server:
        server.answer = 307, "", {"Location": "/v1/images/generations"}
        with pytest.raises(GenerationError, match="redirect to itself"):
            list(openai(server).generate(REQUESTS))
    assert len(server.asked) == http_client.MOST_REDIRECTS + 1


# what was paid


@pytest.mark.parametrize(
    "url",
    ["https://127.0.0.1:{port}/x.png", "http://127.0.0.1:1/x.png", "http://nowhere.invalid/x.png",
     "{origin}/gone", "http://[::1", "{origin}/inside", "?"],
)  # fmt: skip
def test_what_was_answered_was_paid(tmp_path, url):
    with serving(always="written") as server:
        url = url.format(port=server.server_port, origin=server.origin)
        server.answer = 200, {"data": [{"url": url}]}, {}
        model = openai(server)
        budget = Money.read("3 USD")
        model.spending = Spending(tmp_path / "spent", Money.read("1 USD"), budget)
        with pytest.raises((BudgetSpentError, GenerationError)):
            list(model.generate(REQUESTS))
    assert len(server.asked) == model.spending.count.requests <= 3


@pytest.mark.parametrize(
    "body", [{"error": "wrong key"}, {"error": {"code": 429}}, {"data": []}, "text", ""]
)
def test_an_error_in_an_answer_was_paid(connect, tmp_path, body):
    with serving("written") as server:
        server.answer = 200, body, {}
        model = connect(server)
        budget = Money.read("1 USD")
        model.spending = Spending(tmp_path / "spent", Money.read("1 USD"), budget)
        with pytest.raises((BudgetSpentError, GenerationError)):
            list(model.generate(REQUESTS))
    assert len(server.asked) == 1 == model.spending.count.requests


class Two(EndpointModel):
    """A service of one's own that answers with the address of a picture elsewhere."""

    elsewhere = ""

    def ask(self, request, seconds):
        httpx.post(f"{self.address}/paint", json={"prompt": "a", "seed": 1}).raise_for_status()
        return httpx.get(self.elsewhere).raise_for_status().content


@pytest.mark.parametrize("elsewhere", ["http://127.0.0.1:1/x.png", "http://nowhere.invalid/x.png"])
def test_what_a_service_of_ones_own_answered_was_paid(tmp_path, elsewhere):
    with serving() as server:
        model = Two("m", server.origin, QUICK)
        model.elsewhere = elsewhere
        model.spending = Spending(tmp_path / "spent", Money.read("1 USD"), Money.read("2 USD"))
        with pytest.raises(GenerationError, match="may have been charged"):
            list(model.generate(REQUESTS))
    assert len(server.asked) == 1 == model.spending.count.requests


def test_a_picture_of_one_s_own_that_is_json_is_an_error():
    class Own(EndpointModel):
        def ask(self, request, seconds):
            return json.dumps({"error": {"message": "no such model"}}).encode()

    with pytest.raises(GenerationError, match="HTTP 200 with an error in its answer: no such mod"):
        list(Own("m", "http://127.0.0.1:1", QUICK).generate(REQUESTS))


@pytest.mark.parametrize("letter", ["%", "&#", "\\\\"])
def test_an_error_of_many_mebibytes_is_cut(connect, letter):
    limits = AnswerLimits(seconds=5.0, megabytes=16.0, at_once=1)
    with serving(always="written") as server:
        server.answer = 500, letter * (15 * 2**20 // len(letter)), {}
        started = time.thread_time()
        with pytest.raises(GenerationError, match=r"HTTP 500|no complete answer") as told:
            list(connect(server, limits).generate(REQUESTS[:1]))
        assert time.thread_time() - started < 2
    assert len(str(told.value)) < 700
