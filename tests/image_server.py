"""A server on this machine that makes pictures behind HTTP, and every way in which it fails.

It speaks ``/v1/images/generations`` as OpenAI's does, ``/hf`` as a dedicated endpoint of Hugging
Face's, ``/fal-ai`` as one of its providers, and ``/paint`` as the service of docs/endpoints.md.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

SWAPPED = " by another model"
"""What a prompt is drawn with once the model was exchanged."""
RATES = {
    "busy": 0.10, "slow": 0.05, "broken": 0.02, "policy": 0.02, "dripping": 0.01, "endless": 0.01,
    "dropped": 0.01, "restart": 0.005, "policy_in_200": 0.01, "no_wait": 0.01, "no_address": 0.01,
}  # fmt: skip
"""How often a server fails in each way that fails in all of them."""
POLICY = "Your request was rejected by our safety system."


def drawn(prompt: str, seed: int, noise: int = 0) -> bytes:
    """A small picture, blue or red by chance, as a PNG file."""
    digest = hashlib.sha256(f"{prompt} {seed}".encode()).digest()
    picture = Image.new("RGB", (16, 16), (40, 60, 200) if digest[0] % 2 else (200, 60, 40))
    picture.putpixel((0, 0), (digest[1], digest[2], digest[3]))
    red, green, blue = picture.getpixel((1, 1))
    picture.putpixel((1, 1), (red, green + noise, blue))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def is_man(content: bytes) -> bool:
    """Whether a picture is a blue one."""
    with Image.open(io.BytesIO(content)) as picture:
        red, _, blue = picture.getpixel((8, 8))
        return bool(blue > red)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.prompt = body.get("prompt") or body.get("inputs") or body.get("text")
        self.seed = body.get("seed", body.get("parameters", {}).get("seed", -1))
        with self.server.lock:
            self.server.asked.append((self.path, self._received, body))
            fault = self.server.next_fault(body)
            self.server.note("asked", self.prompt, self.seed, fault)
            self.is_swapped = len(self.server.asked) > self.server.swapped_after
        getattr(self, f"_{fault}", self._answer)(fault, body)

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.fetched.append((self.path, self._received))
        if self.path == "/inside":
            self._redirect("http://10.0.0.1/picture.png", 302)
        elif self.path == "/moved":
            self._redirect("/pictures/a/1", 302)
        elif self.path == "/endless":
            self._endless("endless", {})
        elif self.path.endswith("/v1/models") and self.server.models_fail:
            getattr(self, f"_{self.server.models_fail}")(self.server.models_fail, {})
        elif self.path.endswith("/v1/models") and self.server.models is not None:
            self._json(200, self.server.models)
        elif self.path.startswith("/pictures/"):
            _, _, prompt, seed = self.path.split("/")
            self._send(200, drawn(prompt, int(seed)), "image/png")
        else:
            self._send(404, b"gone", "text/plain")

    def _answer(self, fault: str | None, body: Any) -> None:
        self._picture(drawn(f"{self.prompt}{SWAPPED * self.is_swapped}", self.seed))
        with self.server.lock:
            self.server.note("delivered", self.prompt, self.seed, fault)

    def _picture(self, content: bytes) -> None:
        if "/v1/" in self.path:
            rewrite = self.server.rewrite
            told = {"revised_prompt": rewrite(self.prompt)} if rewrite else {}
            self._data({"b64_json": base64.b64encode(content).decode(), **told})
        else:
            self._send(200, content, "image/png")

    def _data(self, *data: Any) -> None:
        self._json(200, {"created": 1, "data": list(data)})

    def _cached(self, fault: str, body: Any) -> None:
        """The picture of the prompt's first seed, as a cache by prompt gives it."""
        self._picture(drawn(self.prompt, 0))

    # refusals and rates

    def _policy(self, fault: str, body: Any) -> None:
        told = {
            "message": POLICY,
            "code": "moderation_blocked",
            "type": "image_generation_user_error",
        }
        self._json(400, {"error": told})

    def _policy_words(self, fault: str, body: Any) -> None:
        self._json(400, {"error": f"NSFW content detected, {self._key}."})

    def _policy_in_200(self, fault: str, body: Any) -> None:
        self._json(200, {"error": {"message": POLICY, "code": "content_policy_violation"}})

    def _no_wait(self, fault: str, body: Any) -> None:
        """Busy, and demands a wait that is none."""
        header = {"Retry-After": "Wed, 21 Oct 99999999999999999999 07:28:00 GMT"}
        self._json(429, {"error": {"message": f"slow down, {self._key}"}}, header)

    def _no_address(self, fault: str, body: Any) -> None:
        self._data({"url": f"http://[{self._key}"})

    def _written(self, fault: str, body: Any) -> None:
        """What the test has written into ``server.answer``."""
        status, plain, headers = self.server.answer
        told = plain if isinstance(plain, str) else json.dumps(plain)
        kind = "text/plain" if isinstance(plain, str) else "application/json"
        self._send(status, told.encode(), kind, headers)

    def _busy(self, fault: str, body: Any) -> None:
        self._json(429, {"error": {"message": f"slow down, {self._key}"}}, {"Retry-After": "0"})

    def _busy_long(self, fault: str, body: Any) -> None:
        self._json(429, {"error": {"message": "later"}}, {"Retry-After": "3600"})

    def _no_money(self, fault: str, body: Any) -> None:
        told = {"message": "You exceeded your current quota.", "code": "insufficient_quota"}
        self._json(429, {"error": told})

    def _down(self, fault: str, body: Any) -> None:
        self._send(503, b"<html>upstream</html>", "text/html", {"Retry-After": "0"})

    def _error(self, fault: str, body: Any) -> None:
        self._json(500, {"error": {"message": "out of memory"}})

    def _not_implemented(self, fault: str, body: Any) -> None:
        self._send(501, b"Unsupported method", "text/plain")

    def _denied(self, fault: str, body: Any) -> None:
        escaped = "".join(f"\\u{ord(sign):04x}" for sign in self._key)
        told = f'{{"error": {{"message": "wrong key {escaped}"}}}}'
        self._send(401, told.encode(), "application/json")

    # parameters

    def _strict(self, fault: str, body: Any) -> None:
        """Knows none of the names that OpenAI's own does not."""
        for name in ("seed", "response_format", "steps", "negative_prompt"):
            if name in body:
                told = {"message": f"Unknown parameter: '{name}'.", "code": "unknown_parameter"}
                return self._json(400, {"error": told})
        return self._picture(drawn(self.prompt, 0))

    def _bad_seed(self, fault: str, body: Any) -> None:
        self._json(422, {"detail": [{"loc": ["body", "seed"], "msg": "must be below 100"}]})

    def _random(self, fault: str, body: Any) -> None:
        """Takes a seed and does not look at it."""
        with self.server.lock:
            chance = len(self.server.asked) + self.server.random.randrange(10**9)
        content = drawn(self.prompt, chance)
        while self.server.only_men and not is_man(content):
            chance += 1
            content = drawn(self.prompt, chance)
        self._picture(content)

    def _batch(self, fault: str, body: Any) -> None:
        """Makes a picture a little otherwise while it makes others."""
        server = self.server
        with server.lock:
            server.flying += 1
            if server.flying > 1:
                server.crowds += 1
            before = server.crowds
        server.ended.wait(0.3)  # long enough for all of a crowd to come on a busy machine
        with server.lock:
            is_crowded = server.flying > 1 or server.crowds > before
            server.flying -= 1
        self._picture(drawn(self.prompt, self.seed, noise=2 * is_crowded))

    def _limited(self, fault: str, body: Any) -> None:
        """Answers so many at a time, and tells others to come again."""
        server = self.server
        with server.lock:
            server.flying += 1
            server.most = max(server.most, server.flying)
            is_full = server.flying > server.limit
        if not is_full:
            server.ended.wait(0.05)
        with server.lock:
            server.flying -= 1
        if is_full:
            self._busy(fault, body)
        else:
            self._answer(None, body)

    # pictures

    def _broken(self, fault: str, body: Any) -> None:
        self._picture(drawn(self.prompt, self.seed)[:60])

    def _jpeg_xl(self, fault: str, body: Any) -> None:
        self._picture(b"\xff\x0a" + drawn(self.prompt, self.seed)[2:])

    def _no_picture(self, fault: str, body: Any) -> None:
        self._data()

    def _null(self, fault: str, body: Any) -> None:
        self._data({"b64_json": None, "url": None})

    def _no_base64(self, fault: str, body: Any) -> None:
        self._data({"b64_json": "?"})

    def _cut_json(self, fault: str, body: Any) -> None:
        self._send(200, b'{"data": [{"b64_json": "iVBOR', "application/json")

    def _html(self, fault: str, body: Any) -> None:
        self._send(200, b"<html>Welcome</html>", "text/html")

    def _text(self, fault: str, body: Any) -> None:
        self._send(200, b"It works!", "text/plain")

    def _empty(self, fault: str, body: Any) -> None:
        self._send(200, b"", "application/json")

    def _bad_size(self, fault: str, body: Any) -> None:
        size = body.get("size") or body.get("parameters")
        told = {"message": f"Invalid value: '{size}'. Supported values are: '1024x1024'."}
        self._json(400, {"error": {**told, "param": "size", "code": "invalid_value"}})

    def _gone(self, fault: str, body: Any) -> None:
        self._json(404, {"error": {"message": f"The model {body.get('model')} does not exist."}})

    # by URL

    def _url(self, fault: str, body: Any) -> None:
        self._data({"url": f"{self.server.origin}/pictures/a/{self.seed}"})

    def _data_url(self, fault: str, body: Any) -> None:
        content = base64.b64encode(drawn(self.prompt, self.seed)).decode()
        self._data({"url": f"data:image/png;base64,{content}"})

    def _url_moved(self, fault: str, body: Any) -> None:
        self._data({"url": f"{self.server.origin}/moved"})

    def _url_elsewhere(self, fault: str, body: Any) -> None:
        self._data({"url": f"http://{self.server.elsewhere}/pictures/a/{self.seed}"})

    def _url_inside(self, fault: str, body: Any) -> None:
        self._data({"url": "http://169.254.169.254/latest/meta-data"})

    def _url_redirected(self, fault: str, body: Any) -> None:
        self._data({"url": f"{self.server.origin}/inside"})

    def _url_of_file(self, fault: str, body: Any) -> None:
        self._data({"url": "file:///etc/passwd"})

    def _url_gone(self, fault: str, body: Any) -> None:
        self._data({"url": f"{self.server.origin}/gone"})

    def _url_endless(self, fault: str, body: Any) -> None:
        self._data({"url": f"{self.server.origin}/endless"})

    # by URL, as fal.ai

    def _fal_url(self, fault: str, body: Any) -> None:
        self._images(f"{self.server.origin}/pictures/{self.prompt}/{self.seed}")

    def _fal_inside(self, fault: str, body: Any) -> None:
        self._images("http://169.254.169.254/latest/meta-data")

    def _fal_redirected(self, fault: str, body: Any) -> None:
        self._images(f"{self.server.origin}/inside")

    def _fal_endless(self, fault: str, body: Any) -> None:
        self._images(f"{self.server.origin}/endless")

    def _fal_gone(self, fault: str, body: Any) -> None:
        self._images(f"{self.server.origin}/gone")

    def _images(self, url: str) -> None:
        self._json(200, {"images": [{"url": url}]})

    # connections

    def _elsewhere(self, fault: str, body: Any) -> None:
        host = self.server.elsewhere or "example.org"
        self._redirect(f"http://{host}/v1/images/generations", 307)

    def _slow(self, fault: str, body: Any) -> None:
        self.server.ended.wait(self.server.slow)
        self._answer(None, body)

    def _restart(self, fault: str, body: Any) -> None:
        """For a second nobody is answered."""
        self.server.away_until = time.monotonic() + 1.0
        self.close_connection = True

    def _dropped(self, fault: str, body: Any) -> None:
        self.close_connection = True

    def _dripping(self, fault: str, body: Any) -> None:
        self._head(200, "application/json", {"Content-Length": "1000000"})
        with suppress(OSError):
            while not self.server.ended.wait(0.02):
                self.wfile.write(b"{")

    def _dripping_head(self, fault: str, body: Any) -> None:
        """One byte of the headers at a time, for ever."""
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while not self.server.ended.wait(0.02):
                self.wfile.write(b"x")

    def _endless(self, fault: str, body: Any) -> None:
        self._head(200, "application/json", {"Transfer-Encoding": "chunked"})
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        with suppress(OSError):
            while not self.server.ended.is_set():
                self.wfile.write(piece)

    @property
    def _received(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    @property
    def _key(self) -> str:
        return str(self.headers["Authorization"]).removeprefix("Bearer ")

    def _redirect(self, where: str, status: int) -> None:
        self._send(status, b"", "text/plain", {"Location": where})

    def _json(self, status: int, plain: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(plain).encode(), "application/json", headers)

    def _send(
        self, status: int, content: bytes, kind: str, headers: dict[str, str] | None = None
    ) -> None:
        self._head(status, kind, {"Content-Length": str(len(content)), **(headers or {})})
        with suppress(OSError):  # whoever asked has gone
            self.wfile.write(content)

    def _head(self, status: int, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "X-Echo": self._key, **headers}.items():
            self.send_header(name, value)
        with suppress(OSError):
            self.end_headers()

    def log_message(self, *told: Any) -> None:
        """Quiet."""


class Server(ThreadingHTTPServer):
    """Counts what it was asked."""

    daemon_threads = True

    def __init__(
        self,
        faults: tuple[str | None, ...],
        always: str | None,
        slow: float,
        rewrite: Callable[[str], Any] | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.rewrite = rewrite
        self.faults, self.always, self.slow = list(faults), always, slow
        self.asked: list[Any] = []
        self.fetched: list[Any] = []
        self.flying = self.crowds = self.most = 0
        """Requests that are being answered; times that one came while others were; at most."""
        self.rates: dict[str, float] = {}
        """How often it fails in which way, where it is not told when."""
        self.random, self.away_until, self.swapped_after = Random(0), -math.inf, math.inf
        """Chance; until when it answers nobody; requests after which another model answers."""
        self.log: Path | None = None
        self.models: Any = None
        """What it says of its models; None: it knows no such question."""
        self.models_fail: str | None = None
        """How that question fails."""
        self.answer: tuple[int, Any, dict[str, str]] = (200, {}, {})
        """Status, body and headers of the answer ``written``."""
        self.only_men = False
        """Whether a model that draws anew draws men alone."""
        self.elsewhere = ""
        """Host and port that pictures lie at."""
        self.limit = 2
        """Requests that are answered at the same time."""
        self.lock, self.ended = threading.Lock(), threading.Event()

    def next_fault(self, body: Any) -> str | None:
        """Those that were given, in turn, then always the same, or by chance."""
        if time.monotonic() < self.away_until:
            return "dropped"
        if self.faults:
            return self.faults.pop(0)
        chance = self.random.random()
        for fault, rate in self.rates.items():
            chance -= rate
            if chance < 0:
                return fault
        return self.always

    def note(self, *told: Any) -> None:
        """Write into the log, which outlives the server."""
        if self.log is not None:
            with self.log.open("a") as log:
                log.write(json.dumps(told) + "\n")

    @property
    def origin(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        """The base URL for OpenAI's protocol."""
        return f"{self.origin}/v1"

    @property
    def bodies(self) -> list[Any]:
        """What was sent."""
        return [body for _, _, body in self.asked]

    def handle_error(self, *told: Any) -> None:
        """Quiet: clients that go away are what is tested."""


@contextmanager
def serving(
    *faults: str | None,
    always: str | None = None,
    slow: float = 5.0,
    rewrite: Callable[[str], Any] | None = None,
) -> Iterator[Server]:
    """A server that fails in these ways in turn, and then in one way always, or never.

    ``rewrite``: what it says that it drew in the place of a prompt; None: it does not say.
    """
    server = Server(faults, always, slow, rewrite)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def written(seed: int) -> str:
    """Address of a server that is there until the tests end; another seed, another address."""
    return f"{_shared().origin}/region-{seed}"


@cache
def _shared() -> Server:
    server = Server((), None, 0.0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
