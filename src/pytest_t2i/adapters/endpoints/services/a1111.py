"""``a1111:[CHECKPOINT][@BASE_URL]``: AUTOMATIC1111's web UI, and SD.Next.

Written by https://github.com/AUTOMATIC1111/stable-diffusion-webui/wiki/API.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from pytest_t2i.adapters.endpoints.answers import json_in
from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.reported_versions import other_model
from pytest_t2i.adapters.endpoints.services.model import ServiceModel, load_service
from pytest_t2i.adapters.endpoints.services.service import AnswerReading, Picture, Service, data_url
from pytest_t2i.adapters.endpoints.shapes import at, items, present, text, texts
from pytest_t2i.data import Request
from pytest_t2i.protocols import LoadOptions


def request(model: str, request: Request) -> Call:
    settings = request.settings
    return Call(
        "sdapi/v1/txt2img",
        present(
            prompt=request.prompt,
            negative_prompt=settings.negative_prompt,
            seed=request.seed,
            steps=settings.steps,
            cfg_scale=settings.guidance,
            width=settings.width,
            height=settings.height,
            batch_size=1,
            n_iter=1,
            override_settings={"sd_model_checkpoint": model} if model else None,
        ),
    )


def read(_: str, answer: Any) -> AnswerReading:
    info = json_in(text(at(answer, "info")))
    name, code = text(at(info, "sd_model_name")), text(at(info, "sd_model_hash"))
    prompt = text(at(info, "prompt")) or None
    pictures = [Picture(data_url(content), prompt) for content in texts(*items(answer, "images"))]
    return AnswerReading(pictures, used=f"{name} [{code}]" if name else "")


def version(model: str) -> Call:
    """The options name the loaded checkpoint, which is another one where one is asked for."""
    return Call("sdapi/v1/sd-models" if model else "sdapi/v1/options", method="GET")


def versions(model: str, told: Any, _: str) -> Mapping[str, str]:
    names = {
        "sd_model_checkpoint": "sd_model_checkpoint",
        "sd_checkpoint_hash": "sd_checkpoint_hash",
    }
    if model:
        names = {"sd_model_checkpoint": "title", "sd_checkpoint_hash": "sha256"}
        entries = told if isinstance(told, list) else []
        titled = ((entry, text(at(entry, "title"))) for entry in entries)
        told = next((e for e, t in titled if not other_model(model, t, has_dates=False)), {})
    return {name: value for name, key in names.items() if (value := text(at(told, key)))}


SERVICE = Service(
    "a1111",
    request,
    read,
    keys=("A1111_API_AUTH",),
    address="http://127.0.0.1:7860",
    routes=r"/sdapi(?:/v1(?:/[\w-]+)?)?|/docs",
    needs_model=False,
    has_dates=False,
    header=lambda key: {"Authorization": f"Basic {base64.b64encode(key.encode()).decode()}"},
    version=version,
    versions=versions,
)


def load(options: LoadOptions) -> ServiceModel:
    return load_service(SERVICE, options)
