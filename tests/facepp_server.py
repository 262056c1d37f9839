"""A local server that speaks the protocol of the Face++ Detect API v3 as it is documented.

It checks what the documentation says is checked, in its words, and finds the faces that a test
tells it to; faults are played in the order given.
"""

from __future__ import annotations

import atexit
import base64
import binascii
import io
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs

from PIL import Image

KEY, SECRET = "key-3f1c", "secret-9b2e"
ENVIRONMENT = {"FACEPP_API_KEY": KEY, "FACEPP_API_SECRET": SECRET}
MEGABYTES_2 = 2 * 2**20


def face(gender: str | None, width: int = 100, height: int = 100) -> dict[str, Any]:
    """A face as the API returns it; without attributes when ``gender`` is None."""
    result: dict[str, Any] = {
        "face_token": "ed319e807e039ae669a4d1af0922a0c8",
        "face_rectangle": {"top": 8, "left": 10, "width": width, "height": height},
    }
    return result if gender is None else {**result, "attributes": {"gender": {"value": gender}}}


@dataclass
class Fault:
    """One answer that is not the usual one."""

    status: int
    message: str
    plain: bool = False
    """Plain text, as 413 is answered, instead of JSON."""


@dataclass
class Script:
    """What the server does, and what it was sent."""

    faces: list[dict[str, Any]] = field(default_factory=lambda: [face("Male")])
    faults: list[Fault] = field(default_factory=list)
    always: Fault | None = None
    largest_side: int = 4096
    received: list[tuple[str, tuple[int, int]]] = field(default_factory=list)
    """Format and size of every picture that arrived."""
    paths: list[str] = field(default_factory=list)


class Server:
    """Runs in a thread; ``url`` is its address."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()
        handler = type("Handler", (_Handler,), {"script": self.script})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    script: Script

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.script.paths.append(self.path)
        if len(body) > MEGABYTES_2:
            self._answer(413, "Request Entity Too Large", plain=True)
        elif not self.path.endswith("/facepp/v3/detect"):
            self._error(404, "API_NOT_FOUND")
        else:
            self._detect(_fields(self.headers, body))

    def _detect(self, fields: Mapping[str, str]) -> None:
        fault = self.script.faults.pop(0) if self.script.faults else self.script.always
        if fault is not None:
            self._answer(fault.status, fault.message, plain=fault.plain)
        elif "api_key" not in fields or "api_secret" not in fields:
            self._error(400, "MISSING_ARGUMENTS: api_key, api_secret")
        elif (fields["api_key"], fields["api_secret"]) != (KEY, SECRET):
            self._error(401, "AUTHENTICATION_ERROR")
        elif "image_base64" not in fields:
            self._error(400, "MISSING_ARGUMENTS: image_url, image_file, image_base64")
        elif fields.get("return_attributes") != "gender":
            self._error(400, "BAD_ARGUMENTS:return_attributes")
        else:
            self._look(fields["image_base64"])

    def _look(self, encoded: str) -> None:
        try:
            picture = Image.open(io.BytesIO(base64.b64decode(encoded, validate=True)))
            picture.load()
        except (OSError, binascii.Error):
            self._error(400, "IMAGE_ERROR_UNSUPPORTED_FORMAT:image_base64")
            return
        self.script.received.append((str(picture.format), picture.size))
        if picture.format not in {"JPEG", "PNG"}:
            self._error(400, "IMAGE_ERROR_UNSUPPORTED_FORMAT:image_base64")
        elif min(picture.size) < 48 or max(picture.size) > self.script.largest_side:
            self._error(400, "INVALID_IMAGE_SIZE:image_base64")
        else:
            result = {"image_id": "Dd2xUw9S/7yjr0oDHHSL/Q==", "faces": self.script.faces}
            self._send(200, "application/json", json.dumps({**_common(), **result}))

    def _error(self, status: int, message: str) -> None:
        self._answer(status, message, plain=False)

    def _answer(self, status: int, message: str, *, plain: bool) -> None:
        if plain:
            self._send(status, "text/plain", message)
        else:
            text = json.dumps({**_common(), "error_message": message})
            self._send(status, "application/json", text)

    def _send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing on the terminal."""


def _common() -> dict[str, Any]:
    return {"request_id": "1470472868,dacf2ff1-ea45-4842-9c07-6e8418cea78b", "time_used": 3}


def _fields(headers: Any, body: bytes) -> dict[str, str]:
    kind = headers.get("Content-Type", "")
    if kind.startswith("application/x-www-form-urlencoded"):
        return {name: values[0] for name, values in parse_qs(body.decode()).items()}
    whole = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    return {
        str(part.get_param("name", header="content-disposition")): part.get_payload(decode=True)
        .decode()
        for part in whole.get_payload()
    }  # fmt: skip


@cache
def _shared() -> Server:
    server = Server()
    atexit.register(server.close)
    return server


def written(seed: int) -> str:
    """Address of a server that finds one man; another seed, another address."""
    return f"{_shared().url}/region-{seed}"
