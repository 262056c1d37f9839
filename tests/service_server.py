"""A server on this machine that speaks as the image services do, and fails as they do.

Every service has a path of its own. A picture is drawn (and billed) once per accepted request;
``Server.drawn`` counts them by prompt and seed, so that a test sees what was paid twice.
"""

from __future__ import annotations

import base64
import json
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from image_server import drawn

FREE = ("busy", "unavailable")
"""Faults before anything was drawn."""
RATES = {"busy": 0.1, "unavailable": 0.05, "refusal": 0.1, "late_file": 0.1}


class Handler(BaseHTTPRequestHandler):
    """One request to one of the services."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def parse_request(self) -> bool:
        """Read the request; a region before the path makes another address of the same server."""
        is_read = super().parse_request()
        self.path = re.sub(r"^/region-\d+", "", getattr(self, "path", ""))
        return is_read

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(path.query).items()}
        with self.server.lock:
            self.server.headers.append((self.path, dict(self.headers)))
        if path.path.startswith("/files/") or path.path == "/view":
            self._file(query.get("filename") or path.path.removeprefix("/files/"))
        elif path.path.startswith("/v1/predictions/"):
            self._look(path.path.rpartition("/")[2], self._prediction)
        elif path.path.startswith("/history/"):
            self._look(path.path.rpartition("/")[2], self._history)
        elif path.path.startswith("/v1/models/"):
            inputs = {name: {} for name in self.server.inputs}
            schemas = {"Input": {"properties": inputs}, "output_format": {"enum": ["png"]}}
            schema = {"components": {"schemas": schemas}}
            self._json(200, {"latest_version": {"id": "v1", "openapi_schema": schema}})
        elif path.path == "/sdapi/v1/sd-models":
            names = {"sd/tuned": "cd", "xl": "ab"}
            self._json(200, [
                {"title": f"{name}.safetensors [{code}]", "model_name": name, "sha256": code * 32}
                for name, code in names.items()
            ])  # fmt: skip
        elif path.path == "/sdapi/v1/options":
            self._json(200, {"sd_model_checkpoint": "xl.safetensors", "sd_checkpoint_hash": "ab"})
        else:
            self._json(404, {"error": "not found"})

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        path = unquote(urlsplit(self.path).path)
        body = self._form(content) if b"form-data" in content[:200] else json.loads(content)
        prompt, seed = self._asked(path, body)
        with self.server.lock:
            self.server.headers.append((self.path, dict(self.headers)))
            self.server.bodies.append((path, body))
            fault = self.server.fault()
            if fault not in FREE and fault != "refusal":
                self.server.drawn[prompt, seed] += 1
        if fault == "busy":
            self._json(429, {"error": {"message": "Too many requests"}}, {"Retry-After": "0.05"})
        elif fault == "unavailable":
            self._json(503, {"error": "overloaded"})
        elif fault == "refusal":
            self._refuse(path)
        elif fault == "broken":
            with self.server.lock:
                self.server.broken += 1
            self._send(200, b'{"data": [{"b64_json": "iVBOR', "application/json")
        else:
            self._answer(path, prompt, seed, fault)

    def _form(self, content: bytes) -> dict[str, str]:
        fields = re.findall(rb'name="(\w+)"\r\n\r\n(.*?)\r\n--', content, re.DOTALL)
        return {name.decode(): value.decode() for name, value in fields}

    def _asked(self, path: str, body: Any) -> tuple[str, int]:  # noqa: PLR0911 - a shape each
        """Prompt and seed, wherever the service has them."""
        if path.startswith("/v1/") and "predictions" in path:
            return body["input"]["prompt"], body["input"].get("seed", -1)
        if path.endswith("/chat/completions"):
            return body["messages"][-1]["content"], body.get("seed", -1)
        if path.endswith(":generateContent"):
            text = body["contents"][0]["parts"][0]["text"]
            return text, body["generationConfig"].get("seed", -1)
        if path.endswith(":predict"):
            return body["instances"][0]["prompt"], -1
        if path.endswith("/invoke") and "textToImageParams" in body:
            config = body["imageGenerationConfig"]
            return body["textToImageParams"]["text"], config["seed"]
        if path == "/prompt":
            nodes = body["prompt"]
            return nodes["6"]["inputs"]["text"], nodes["3"]["inputs"]["seed"]
        return body["prompt"], int(body.get("seed", -1))

    def _refuse(self, path: str) -> None:
        """A refusal in the service's own shape."""
        if path.endswith("/chat/completions"):
            message = {"role": "assistant", "content": None, "refusal": "I can't draw that."}
            self._json(200, {"choices": [{"message": message, "finish_reason": "stop"}]})
        elif path.endswith(":generateContent"):
            self._json(200, {"candidates": [{"finishReason": "IMAGE_SAFETY", "content": {}}]})
        elif path.endswith(":predict"):
            self._json(200, {"predictions": [{"raiFilteredReason": "it violates a policy"}]})
        elif "predictions" in path:
            self._json(201, {"status": "failed", "error": "NSFW content detected. Try again."})
        elif path.startswith("/fal-ai"):
            entry = {"url": f"{self.server.address}/files/black/0", "width": 16}
            self._json(200, {"images": [entry], "has_nsfw_concepts": [True]})
        elif path.startswith("/v2beta"):
            self._json(403, {"name": "content_moderation", "errors": ["flagged"]})
        elif path.endswith("/invoke") and "stability" in path:
            reasons = ["Filter reason: prompt"]
            self._json(200, {"images": [], "seeds": [], "finish_reasons": reasons})
        elif path.endswith("/invoke"):
            words = "This request has been blocked by our content filters."
            self._json(400, {"message": words})
        else:
            error = {"code": "content_policy_violation", "message": "Your request was rejected."}
            self._json(400, {"error": error})

    def _answer(  # noqa: C901 - a shape each
        self, path: str, prompt: str, seed: int, fault: str | None
    ) -> None:
        name = f"{base64.urlsafe_b64encode(prompt.encode()).decode().rstrip('=')}/{seed}"
        content = base64.b64encode(drawn(prompt, seed)).decode()
        url = f"{self.server.address}/files/{name}"
        if fault == "late_file":
            with self.server.lock:
                self.server.late[name] = 2
        if path.endswith("/chat/completions"):
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{content}"}}
            message = {"role": "assistant", "content": "Here it is.", "images": [image]}
            usage = {"cost": 0.039}
            answer = {"choices": [{"message": message}], "usage": usage}
            self._json(200, {**answer, **self.server.named})
        elif path.endswith(":generateContent"):
            parts = [{"text": "Here"}, {"inlineData": {"mimeType": "image/png", "data": content}}]
            self._json(200, {"candidates": [{"content": {"parts": parts}}], **self.server.named})
        elif path.endswith(":predict"):
            prediction = {"bytesBase64Encoded": content, "mimeType": "image/png"}
            self._json(200, {"predictions": [{**prediction, "prompt": f"{prompt}, smiling"}]})
        elif "predictions" in path:
            job = self._begin(name)
            urls = {"get": f"{self.server.address}/v1/predictions/{job}"}
            self._json(201, {"id": job, "status": "starting", "urls": urls, "output": None})
        elif path.startswith("/fal-ai"):
            answer = {"images": [{"url": url}], "has_nsfw_concepts": [False]}
            self._json(200, {**answer, **self.server.named})
        elif path.startswith("/v2beta"):
            answer = {"image": content, "finish_reason": "SUCCESS", "seed": seed}
            self._json(200, {**answer, **self.server.named})
        elif path.endswith("/invoke"):
            self._json(200, {"images": [content], "seeds": [seed], "finish_reasons": [None]})
        elif path == "/sdapi/v1/txt2img":
            info = {"prompt": prompt, **self.server.named}
            self._json(200, {"images": [content], "info": json.dumps(info), **self.server.named})
        elif path == "/prompt":
            self._json(200, {"prompt_id": self._begin(name), "number": 1, "node_errors": {}})
        elif path.startswith("/openai/"):
            entry = {"b64_json": content, "revised_prompt": f"{prompt}, smiling"}
            self._json(200, {"created": 1, "data": [entry]})
        else:
            self._json(200, {"data": [{"url": url}], **self.server.named})

    def _begin(self, name: str) -> str:
        """The id of a job that ends at its third look."""
        with self.server.lock:
            job = f"job{len(self.server.jobs)}"
            self.server.jobs[job] = [name, 2]
        return job

    def _look(self, job: str, answer: Any) -> None:
        with self.server.lock:
            name, left = self.server.jobs[job]
            self.server.jobs[job][1] = left - 1
            is_down = self.server.random.random() < self.server.faulty_looks
        if is_down:
            self._json(502, {"error": "bad gateway"})
        else:
            answer(job, name, is_over=left <= 0)

    def _prediction(self, job: str, name: str, *, is_over: bool) -> None:
        urls = {"get": f"{self.server.address}/v1/predictions/{job}"}
        output = [f"{self.server.address}/files/{name}"] if is_over else None
        status = "succeeded" if is_over else "processing"
        answer = {"id": job, "status": status, "urls": urls, "output": output}
        self._json(200, {**answer, **self.server.named})

    def _history(self, job: str, name: str, *, is_over: bool) -> None:
        if not is_over:
            self._json(200, {})
            return
        image = {"filename": name, "subfolder": "", "type": self.server.place}
        status = {"status_str": "success", "completed": True, "messages": []}
        self._json(200, {job: {"outputs": {"9": {"images": [image]}}, "status": status}})

    def _file(self, name: str) -> None:
        with self.server.lock:
            left = self.server.late.get(name, 0)
            self.server.late[name] = left - 1
        if left > 0:
            self._json(503, {"error": "the file is not there yet"})
            return
        prompt, _, seed = name.partition("/")
        text = base64.urlsafe_b64decode(prompt + "=" * (-len(prompt) % 4)).decode()
        self._send(200, drawn(text, int(seed)), "image/png")

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(body).encode(), "application/json", headers)

    def _send(
        self, status: int, content: bytes, kind: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Server(ThreadingHTTPServer):
    """The services, and what they have done."""

    daemon_threads = True

    def __init__(self, rates: dict[str, float], seed: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.rates, self.random, self.lock = rates, Random(seed), threading.Lock()
        self.faulty_looks = 0.1 if rates else 0.0
        self.broken = 0
        self.named: dict[str, str] = {}
        """Fields of an answer that name the model."""
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.drawn: Counter[tuple[str, int]] = Counter()
        self.bodies: list[tuple[str, Any]] = []
        self.headers: list[tuple[str, dict[str, str]]] = []
        self.jobs: dict[str, list[Any]] = {}
        self.place = "output"
        """Kind of folder in which ComfyUI keeps its pictures."""
        self.late: dict[str, int] = {}
        self.inputs = ("prompt", "seed", "num_inference_steps", "guidance", "output_format")

    def fault(self) -> str | None:
        chance = self.random.random()
        for name, rate in self.rates.items():
            chance -= rate
            if chance < 0:
                return name
        return None


KEYS = {
    "AZURE_OPENAI_API_KEY": "azure-key-0",
    "TOGETHER_API_KEY": "together-key-0",
    "CHAT_IMAGE_API_KEY": "chat-key-0",
    "GEMINI_API_KEY": "gemini-key-0",
    "FAL_KEY": "fal-key-0",
    "REPLICATE_API_TOKEN": "replicate-key-0",
    "STABILITY_API_KEY": "stability-key-0",
    "AWS_BEARER_TOKEN_BEDROCK": "bedrock-key-0",
}
"""Environment variables of keys."""
WORKFLOW = {
    "3": {"class_type": "KSampler", "inputs": {"seed": "{seed}", "steps": "{steps:20}", "cfg": 7}},
    "6": {"class_type": "CLIPTextEncode", "inputs": {"text": "{prompt}"}},
    "9": {"class_type": "SaveImage", "inputs": {"filename_prefix": "t2i", "images": ["3", 0]}},
}
"""A workflow of ComfyUI with marks."""
SOURCES = {
    "azure": "images@{}",
    "together": "flux@{}/together",
    "chat-image": "google/gemini-image@{}/api",
    "gemini": "gemini-flash-image@{}/v1beta",
    "fal": "fal-ai/flux/dev@{}",
    "replicate": "owner/flux@{}/v1",
    "stability": "core@{}/v2beta",
    "bedrock": "amazon.nova-canvas-v1:0@{}",
    "a1111": "@{}",
    "comfy": "{workflow}@{}",
}
"""Name of a service -> its source, with the place of the server's address."""


def source_of(name: str, address: str, folder: Path) -> str:
    """The source of a service; ComfyUI's workflow is written into the folder."""
    workflow = folder / "workflow.json"
    workflow.write_text(json.dumps(WORKFLOW), "utf-8")
    return SOURCES[name].format(address, workflow=workflow)


def written(name: str, seed: int) -> str:
    """The source of a service on a server that is there until the tests end."""
    return source_of(name, f"{_shared().address}/region-{seed}", Path(tempfile.mkdtemp()))


@cache
def _shared() -> Server:
    server = Server({}, 0)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


@contextmanager
def serving(rates: dict[str, float] | None = None, seed: int = 0) -> Iterator[Server]:
    """A server for the length of a block."""
    server = Server(rates or {}, seed)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5.0)
        time.sleep(0)
