"""A server on this machine that speaks OpenAI's protocol, and every way in which it fails."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = (
    "busy", "truncated", "no_json", "refused", "no_key", "empty", "twice", "cut", "few", "same",
    "broken_body", "server_error", "empty_body", "cut_body", "not_utf8", "deep_body", "long_number",
    "no_object", "no_message", "null_message", "message_of_words", "no_text", "null_choice",
    "choices_of_words",
)  # fmt: skip
"""Ways to fail, one after the other; each third answer is whole."""
BODIES: dict[str, Any] = {
    "broken_body": {"choices": []},
    "no_object": [],
    "no_message": {"choices": [{"index": 0, "finish_reason": "stop"}]},
    "null_message": {"choices": [{"index": 0, "message": None, "finish_reason": "stop"}]},
    "message_of_words": {"choices": [{"index": 0, "message": "a hat", "finish_reason": "stop"}]},
    "no_text": {"choices": [{"index": 0, "message": {"content": 5}, "finish_reason": "stop"}]},
    "null_choice": {"choices": [None]},
    "choices_of_words": {"choices": "x"},
}
"""Fault -> a whole body that is not as the protocol says."""
BYTES = {
    "empty_body": b"",
    "cut_body": b'{"choices": [{"index": 0, "message": {"content": "{',
    "not_utf8": b'{"choices": [{"message": {"content": "caf\xe9"}}]}',
    "deep_body": b"[" * 100_000,
    "long_number": b'{"created": ' + b"1" * 5000 + b"}",
}
"""Fault -> a body that Python reads no JSON from."""


FAULTS_OF_SENTENCES = (
    "busy", "truncated", "no_json", "refused", "empty", "no_key", "gendered", "company",
    "unnamed", "plural", "long", "two",
)  # fmt: skip
"""The same where a sentence is asked for."""
SENTENCES = {
    "gendered": "{} at work combs her hair",
    "company": "{} at work beside a customer",
    "unnamed": "Somebody at work",
    "plural": "{}s at work",
    "long": "{} at work" + " among many trees" * 20,
    "two": "{} is at work. A red car stands outside.",
}
"""Fault -> a sentence that cannot be taken."""
PICTURE = re.compile(r"a picture of (.+?) at work:")


def attributes(count: int = 15) -> list[dict[str, str]]:
    """A whole answer."""
    return [
        {"attribute": f"thing {k}", "positive": f"a person with thing {k}",
         "negative": f"a person without thing {k}"}
        for k in range(count)
    ]  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked.append((dict(self.headers), body))
            number = len(self.server.asked) - 1
        self.is_first = number % 3 == 0
        self.question = body["messages"][-1]["content"]
        self.has_schema = "response_format" in body
        faults = self.server.faults
        fault = None if number % 3 == 2 or not faults else faults[number // 3 % len(faults)]
        if fault in BODIES:
            self._send(200, BODIES[fault])
        elif fault in BYTES:
            self._send_bytes(200, BYTES[fault])
        else:
            getattr(self, f"_{fault}", self._answer)(fault)

    def _answer(self, fault: str | None) -> None:
        rows = attributes()
        told, reason, refusal = self._whole(fault), "stop", None
        if fault == "truncated":
            told, reason = told[: len(told) // 2], "length"
        elif fault == "cut":
            told = told[: len(told) // 2]
        elif fault == "no_json":
            told = "Certainly! Here is a list: 1. a hat"
        elif fault == "refused":
            told, refusal = None, "I cannot help with that."
        elif fault == "no_key":
            told = json.dumps({"attributes": [{"attribute": "hat"}] * 15})
        elif fault == "empty":
            told = ""
        elif fault == "twice":
            told = json.dumps({"attributes": [rows[0]] * 15})
        elif fault == "few":
            told = json.dumps({"attributes": rows[:3]})
        elif fault == "same":
            told = json.dumps(
                {"attributes": [{**row, "negative": row["positive"]} for row in rows]}
            )
        message = {"role": "assistant", "content": told, "refusal": refusal}
        self._send(200, {
            "id": "1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        })  # fmt: skip

    def _whole(self, fault: str | None) -> str:
        """The answer to what was asked; a sentence has faults of its own."""
        asked = PICTURE.search(self.question)
        if asked is None:
            return json.dumps({"attributes": attributes()})
        sentence = SENTENCES.get(fault or "", "{} at work beside a red car")
        return json.dumps({"sentence": sentence.format(asked[1].capitalize())})

    def _busy(self, fault: str) -> None:
        self._send(429, {"error": {"message": f"slow down, {self._key}"}})

    def _server_error(self, fault: str) -> None:
        self._send(503, {"error": {"message": "later"}})

    def _slow(self, fault: str) -> None:
        if self.is_first:
            time.sleep(1.0)
        self._answer(None)

    def _schema(self, fault: str) -> None:
        if self.has_schema:
            self._send(400, {"error": {"message": "response_format is not known"}})
        else:
            self._answer(None)

    def _schema_422(self, fault: str) -> None:
        if self.has_schema:
            self._send(422, {"detail": "response_format is not known"})
        else:
            self._answer(None)

    def _too_long(self, fault: str) -> None:
        self._send(400, {"error": {"message": "exceeded the maximum context length"}})

    def _denied(self, fault: str) -> None:
        self._send(401, {"error": {"message": f"wrong key {self._key}"}})

    def _shows_key(self, fault: str) -> None:
        """The key as an attribute, so that it would be written into a file of candidates."""
        self._say_key(self._key)

    def _shows_key_escaped(self, fault: str) -> None:
        self._say_key("".join(f"\\u{ord(sign):04x}" for sign in self._key))

    def _say_key(self, key: str) -> None:
        rows = [{"attribute": "KEY", "positive": "a", "negative": "b"}, *attributes()]
        told = json.dumps({"attributes": rows}).replace("KEY", key)
        message = {"role": "assistant", "content": told}
        self._send(200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    def _dropped(self, fault: str) -> None:
        self._send_bytes(200, BYTES["cut_body"], promised=1000)
        self.close_connection = True

    @property
    def _key(self) -> str:
        return str(self.headers["Authorization"]).removeprefix("Bearer ")

    def _send(self, status: int, plain: Any) -> None:
        self._send_bytes(status, json.dumps(plain).encode())

    def _send_bytes(self, status: int, content: bytes, promised: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(promised or len(content)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        with suppress(OSError):  # whoever asked has gone
            self.wfile.write(content)

    def log_message(self, *told: Any) -> None:
        """Quiet."""


class Server(ThreadingHTTPServer):
    """Counts what it was asked."""

    daemon_threads = True

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults, self.asked, self.lock = faults, [], threading.Lock()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}/v1"


@contextmanager
def serving(*faults: str) -> Iterator[Server]:
    """A server that fails in these ways in turn, twice in three times."""
    server = Server(faults)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
