"""``replicate:OWNER/NAME[:VERSION]``: official models without a version, others with one.

Written by https://replicate.com/docs/topics/predictions/create-a-prediction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_t2i.adapters.endpoints.endpoint_model import ALIASES
from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.services.model import ServiceModel, load_service
from pytest_t2i.adapters.endpoints.services.service import AnswerReading, Picture, Service
from pytest_t2i.adapters.endpoints.shapes import at, present, text, texts
from pytest_t2i.data import Request
from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.protocols import LoadOptions

WAIT = 60
"""Seconds for which the service holds the answer open."""
NAMES = {names[0]: names for names in ALIASES}
"""Field -> its names in the inputs of models; other fields have one name."""
NEEDED = {
    "num_inference_steps": "steps", "guidance_scale": "guidance", "width": "size",
    "height": "size", "negative_prompt": "negative prompt",
}  # fmt: skip
"""Field of a setting, which no model may ignore -> the setting."""
SPARED = ("seed", "num_outputs", "output_format")
"""Fields that a model may lack."""


def request(model: str, request: Request) -> Call:
    settings = request.settings
    name, _, version = model.partition(":")
    own = present(
        prompt=request.prompt,
        seed=request.seed,
        num_outputs=1,
        output_format="png",
        num_inference_steps=settings.steps,
        guidance_scale=settings.guidance,
        width=settings.width,
        height=settings.height,
        negative_prompt=settings.negative_prompt,
    )
    body = {"version": version, "input": own} if version else {"input": own}
    path = "predictions" if version else f"models/{name}/predictions"
    return Call(path, body, headers={"Prefer": f"wait={WAIT}"})


def fit(_: str, call: Call, description: Any) -> Call:
    """The call with the inputs that this model has: another one would be ignored."""
    schemas = at(description, "latest_version", "openapi_schema", "components", "schemas")
    inputs = at(schemas, "Input", "properties")
    if not isinstance(inputs, Mapping) or call.body is None:
        return call
    fields: dict[str, Any] = {}
    for name, value in call.body["input"].items():
        accepted = next((alias for alias in NAMES.get(name, (name,)) if alias in inputs), "")
        if name in SPARED and (not accepted or "png" not in json.dumps(schemas)):
            if accepted and name != "output_format":
                fields[accepted] = value
        elif accepted or name == "prompt":
            fields[accepted or name] = value
        elif name in NEEDED:
            raise ConfigurationError(f"the model has no input for {NEEDED[name]}: leave it out")
        else:
            raise ConfigurationError(
                f"the model has no input {name}: leave it out, or give one of "
                f"{some(sorted(inputs))}"
            )
    return call._replace(body={**call.body, "input": fields})


def read(_: str, answer: Any) -> AnswerReading:
    """What an answer says: a job that goes on, has failed, or has made its picture."""
    state, output, job = at(answer, "status"), at(answer, "output"), None
    if state in {"starting", "processing"}:
        routes = (f"predictions/{name}" for name in texts(at(answer, "id")))
        place = text(at(answer, "urls", "get"), next(routes, None))
        job = Call(place, method="GET") if place else None
    has_failed = state in {"failed", "canceled", "aborted"}
    entries = output if isinstance(output, list) else [output]
    contents = (text(entry, at(entry, "url")) for entry in entries)
    return AnswerReading(
        [Picture(content) for content in contents if content],
        failure=text(at(answer, "error"), f"the job is {state}") if has_failed else "",
        used=":".join(texts(at(answer, "model"), at(answer, "version"))),
        job=job,
    )


SERVICE = Service(
    "replicate",
    request,
    read,
    keys=("REPLICATE_API_TOKEN",),
    address="https://api.replicate.com/v1",
    routes=r"/models/(?P<model>[^/]+/[^/]+)(?:/predictions|/versions.*)?|/models|/predictions",
    version=lambda model: Call(f"models/{model.partition(':')[0]}", method="GET"),
    versions=lambda model, told, _: present(
        version=text(model.partition(":")[2], at(told, "latest_version", "id")) or None
    ),
    fit=fit,
    is_described=True,
)


def load(options: LoadOptions) -> ServiceModel:
    return load_service(SERVICE, options)
