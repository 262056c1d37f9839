"""``comfy:WORKFLOW.json[@BASE_URL]``: a workflow of ComfyUI, whose fields are marked.

Written by https://docs.comfy.org (routes /prompt, /history, /view), as clients quote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.services.model import ServiceModel, split_source
from pytest_t2i.adapters.endpoints.services.service import (
    ALL_SETTINGS,
    AnswerReading,
    Picture,
    Service,
)
from pytest_t2i.adapters.endpoints.shapes import at, items, text
from pytest_t2i.data import Request, digest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.read_files import parse_json, read_text

MARK = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
"""A mark in a workflow: ``{seed}``, or ``{steps:20}`` with what stands there by default."""
UNSAVED = (
    "expected a workflow that saves its picture, got one that only shows it (PreviewImage): put "
    'a node SaveImage in its place, and use "Save (API format)" again'
)
OPTIONS = {name: f"--t2i-{name}" for name in ALL_SETTINGS} | dict.fromkeys(
    ("width", "height"), "--t2i-size"
)


def read_workflow(file: Path) -> dict[str, Any]:
    """Read a workflow that ComfyUI's "Save (API format)" wrote, with marks.

    Raises:
        ConfigurationError: there is no such file, it is no workflow in the API format, or the
            prompt or the seed is not marked.
    """
    workflow = parse_json(file, read_text(file, kind="workflow"))
    nodes = workflow.get("prompt", workflow) if isinstance(workflow, dict) else None
    if not isinstance(nodes, dict) or not all(
        isinstance(node, dict) and "class_type" in node for node in nodes.values()
    ):
        raise ConfigurationError(
            f"comfy:{file}: expected a workflow in ComfyUI's API format (an object of nodes "
            'with "class_type" and "inputs"), got something else: use "Save (API format)"'
        )
    missing = [name for name in ("prompt", "seed") if name not in _marks(nodes)]
    if missing:
        raise ConfigurationError(
            f"comfy:{file}: expected the marks {{prompt}} and {{seed}} in fields of the "
            f"workflow, got none of {' and '.join(missing)}: write "
            '"text": "{prompt}" and "seed": "{seed}" in place of the values'
        )
    kinds = {str(node["class_type"]) for node in nodes.values()}
    if "PreviewImage" in kinds and not any("save" in kind.lower() for kind in kinds):
        raise ConfigurationError(f"comfy:{file}: {UNSAVED}")
    return nodes


def _marks(nodes: Mapping[str, Any]) -> set[str]:
    return {match[1] for match in MARK.finditer(json.dumps(nodes, ensure_ascii=False))}


def request(workflow: Mapping[str, Any], _: str, request: Request) -> Call:
    settings = asdict(request.settings)
    values = {"prompt": request.prompt, "seed": request.seed}
    nodes = _filled(workflow, values | {name: settings[name] for name in ALL_SETTINGS})
    for node in nodes.values():
        inputs = node.get("inputs")
        if isinstance(inputs, dict) and isinstance(inputs.get("filename_prefix"), str):
            # ComfyUI does not run a workflow again that it has run: a name of its own makes it
            # save the picture again.
            inputs["filename_prefix"] += f"-{uuid4().hex[:12]}"
    return Call("prompt", {"prompt": nodes})


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return {name: _filled(inner, values) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, values) for inner in value]
    if not isinstance(value, str):
        return value
    mark = MARK.fullmatch(value.strip())
    if mark and mark[1] in values:
        return _value(mark, values)
    return MARK.sub(lambda m: str(_value(m, values)) if m[1] in values else m[0], value)


def _value(mark: re.Match[str], values: Mapping[str, Any]) -> Any:
    name, default = mark[1], mark[2]
    if values[name] is not None:
        return values[name]
    if default is None and name != "negative_prompt":
        raise ConfigurationError(
            f"the workflow marks {{{name}}} without a default: give {OPTIONS[name]}, or write a "
            f"default as in {{{name}:20}}"
        )
    try:
        return json.loads(default or "")
    except ValueError:
        return default or ""


def read(_: str, answer: Any) -> AnswerReading:
    """What an answer says: a job that was begun, or its entry in the history."""
    if job := text(at(answer, "prompt_id")):
        return AnswerReading(job=Call(f"history/{quote(job, safe='')}", method="GET"))
    entry = next(iter(answer.values()), None) if isinstance(answer, Mapping) else None
    if at(entry, "status", "status_str") == "error":
        messages = items(entry, "status", "messages")
        words = (at(message, 1, "exception_message") for message in messages)
        return AnswerReading(failure=text(*words, "the workflow has failed"))
    outputs = at(entry, "outputs")
    images = [
        image
        for output in (outputs.values() if isinstance(outputs, Mapping) else ())
        for image in items(output, "images")
        if isinstance(at(image, "filename"), str)
    ]
    saved = [image for image in images if at(image, "type") != "temp"]
    if images and not saved:
        raise ConfigurationError(UNSAVED)
    names = ("filename", "subfolder", "type")
    places = [urlencode({name: str(at(image, name) or "") for name in names}) for image in saved]
    return AnswerReading([Picture(Call(f"view?{place}", method="GET")) for place in places])


def service_of(workflow: Mapping[str, Any]) -> Service:
    """The service with this workflow, which takes the settings that it marks."""
    marks = _marks(workflow)
    return Service(
        "comfy",
        partial(request, workflow),
        read,
        keys=("COMFY_API_KEY",),
        address="http://127.0.0.1:8188",
        settings=tuple(name for name in ALL_SETTINGS if name in marks),
        routes=r"/(?:prompt|queue|history|view|ws|object_info|system_stats)(?:/[\w-]+)?",
        takes_extra=False,
    )


def load(options: LoadOptions) -> ServiceModel:
    """Load ``comfy:WORKFLOW.json[@BASE_URL]``."""
    name, address = split_source(service_of({}), options.source)
    file = Path(name).expanduser()
    workflow = read_workflow(file)
    model = f"{file.name} {digest([workflow])[:12]}"
    return ServiceModel(service_of(workflow), model, address, options.answers)
