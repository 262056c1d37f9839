"""A server on this machine that plays a judge of pictures, with every fault planted.

It speaks OpenAI's chat protocol. The truth of a picture stands in its top left pixel: ``truth_of``
reads it, ``picture`` draws it. What the judge says follows a planted confusion matrix and planted
shares of abstention and refusal by group; words drawn in a picture are obeyed at a planted rate.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

from PIL import Image

from pytest_t2i.adapters.detectors.vlm import PROBE

GENDERS = ("male", "female")


def picture(place: int, red: int = 0, told: int = 0, size: int = 48) -> Image.Image:
    """A picture of group ``place``; ``told`` - 1 is the group that words in it ask for."""
    image = Image.new("RGB", (size, size), (red % 256, red // 256 % 256, 120))
    image.putpixel((0, 0), (10 + place, told, 7))
    return image


def truth_of(image: Image.Image) -> tuple[int, int | None]:
    """The group of a picture, and the one that words in it ask for."""
    place, told, _ = image.getpixel((0, 0))
    return place - 10, told - 1 if told else None


@dataclass
class Plan:
    """What the judge does."""

    right: Mapping[str, float] = field(default_factory=dict)
    """Group -> share of right labels; 1 where nothing is said."""
    abstains: Mapping[str, float] = field(default_factory=dict)
    refuses: Mapping[str, float] = field(default_factory=dict)
    obeys: float = 0.0
    """Share of pictures with words whose words are obeyed."""
    unsteady: float = 0.0
    """Share of pictures whose second answer is drawn anew."""
    rejects: Callable[[Image.Image], tuple[int, str] | None] = lambda _: None
    """HTTP status and message with which a picture is rejected."""
    not_taken: Sequence[str] = ()
    """Fields with which every request is refused."""
    words: str = "Unknown parameter: '{}'"
    """The message for such a field."""
    version: Callable[[int], Mapping[str, str]] = lambda _: {"system_fingerprint": "fp-1"}
    """Number of answered requests -> fields of the answer that tell the version."""
    listed: Callable[[int], Mapping[str, str]] = lambda _: {}
    """The same -> fields in the list of models."""
    hostile: Sequence[bytes] = ()
    """Bodies, or texts of an answer, in turn; b"" is a right answer."""
    status: Callable[[int], int] = lambda _: 200
    seconds: float = 0.0
    rewrite: Callable[[str, int], str] = lambda text, _: text
    """The text of an answer and its number -> what is sent."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Fields of the message besides its content; ``finish_reason`` is that of the choice."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        entry = {"id": "judge", "object": "model", **self.server.plan.listed(self.server.answered)}
        self._send(200, json.dumps({"data": [entry]}).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        plan, server = self.server.plan, self.server
        with server.lock:
            server.requests.append((dict(self.headers), body))
            number = server.answered
            server.answered += 1
        status = plan.status(number)
        if status != 200:
            self._send(status, json.dumps({"error": {"message": "planted"}}).encode())
            return
        if refused := next((name for name in plan.not_taken if name in body), None):
            words = plan.words.format(refused)
            self._send(400, json.dumps({"error": {"message": words}}).encode())
            return
        content = body["messages"][-1]["content"]
        if is_trial(body):
            self._chat("ready", number)
            return
        time.sleep(plan.seconds)
        url = content[1]["image_url"]["url"]
        digest = hashlib.sha256(url.encode()).hexdigest()
        with server.lock:
            server.judged[digest] += 1
            times = server.judged[digest]
        image = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
        if rejection := plan.rejects(image):
            self._send(rejection[0], json.dumps({"error": {"message": rejection[1]}}).encode())
            return
        hostile = plan.hostile[number % len(plan.hostile)] if plan.hostile else b""
        if hostile[:1] == b"\0":
            self._send(200, hostile[1:])
        elif hostile:
            self._chat(hostile.decode(errors="replace"), number)
        else:
            self._answer(image, body, digest, times, number)

    def _answer(self, image: Image.Image, body: Any, digest: str, times: int, number: int) -> None:
        plan = self.server.plan
        place, told = truth_of(image)
        answer: dict[str, Any] = {}
        for name, words in attributes(body["messages"][0]["content"]).items():
            labels = words[: words.index("unspecified")]
            truth = labels[place % len(labels)]
            random = Random(f"{digest} {name}")
            if times > 1 and Random(digest).random() < plan.unsteady:
                random = Random(f"{digest} {name} {times}")
            if random.random() < plan.refuses.get(truth, 0.0):
                self._chat(None, number, refusal="I cannot help with people.")
                return
            label = truth
            if random.random() < plan.abstains.get(truth, 0.0):
                label = "unspecified"
            elif random.random() >= plan.right.get(truth, 1.0):
                label = random.choice([other for other in labels if other != truth])
            if told is not None and random.random() < plan.obeys:
                label = labels[told % len(labels)]
            answer[name] = {"evidence": f"<b>seen</b> {name}", "label": label}
        self._chat(plan.rewrite(json.dumps(answer), number), number)

    def _chat(self, text: str | None, number: int, refusal: str | None = None) -> None:
        beside = dict(self.server.plan.beside)
        end = beside.pop("finish_reason", "stop")
        message = {"role": "assistant", "content": text, "refusal": refusal, **beside}
        choice = {"index": 0, "message": message, "finish_reason": end}
        body = {
            "object": "chat.completion",
            "choices": [choice],
            **self.server.plan.version(number),
        }
        self._send(200, json.dumps(body).encode())

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def is_trial(body: Any) -> bool:
    """Whether a request is about an empty picture."""
    return body["messages"][-1]["content"][0]["text"] == PROBE


def attributes(system: str) -> dict[str, list[str]]:
    """Attribute -> everything that the rubric allows as its label."""
    found: dict[str, list[str]] = {}
    for line in system.splitlines():
        if line.startswith('Attribute "'):
            name = line.split('"')[1]
            found[name] = []
        elif line.startswith("- ") and found:
            found[name].append(line[2:].partition(":")[0])
    return found


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, plan: Plan) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan, self.lock = plan, threading.Lock()
        self.requests: list[tuple[dict[str, str], Any]] = []
        self.answered = 0
        self.judged: Counter[str] = Counter()
        """Digest of a picture -> how often it was judged."""

    def handle_error(self, *_: Any) -> None:
        """A client that was killed has hung up."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def pictures(self) -> int:
        """Requests with a picture."""
        return sum(not is_trial(body) for _, body in self.requests)


@contextmanager
def judging(plan: Plan | None = None) -> Iterator[Server]:
    """A server that runs while the context is open."""
    server = Server(plan or Plan())
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


_shared: list[Server] = []


def written(seed: int) -> str:
    """Source of a judge that is always right; another seed, another model."""
    if not _shared:
        _shared.append(Server(Plan()))
        threading.Thread(target=_shared[0].serve_forever, daemon=True).start()
    return f"judge-{seed}@{_shared[0].address}+gender+age"
