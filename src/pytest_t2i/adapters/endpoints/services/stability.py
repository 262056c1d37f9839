"""``stability:MODEL``: Stability AI's core, ultra, and the models of the sd3 family.

Written by https://platform.stability.ai/docs/api-reference, as clients quote it.
"""

from __future__ import annotations

from typing import Any

from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.services.model import ServiceModel, load_service
from pytest_t2i.adapters.endpoints.services.service import (
    AnswerReading,
    Picture,
    Service,
    aspect_ratio,
    data_url,
)
from pytest_t2i.adapters.endpoints.shapes import at, present, text, texts
from pytest_t2i.data import Request
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import LoadOptions

RATIOS = "1:1 2:3 3:2 4:5 5:4 9:16 16:9 9:21 21:9"


def request(model: str, request: Request) -> Call:
    """The call for one picture. A seed of 0 stands for chance, so seeds are sent plus one."""
    settings, is_sd3 = request.settings, model.startswith("sd3")
    guidance = None if settings.guidance is None else f"{settings.guidance:g}"
    if guidance and not is_sd3:
        raise ConfigurationError(f"stability:{model} takes no guidance: leave --t2i-guidance out")
    form = present(
        prompt=request.prompt,
        seed=str(request.seed + 1),
        output_format="png",
        negative_prompt=settings.negative_prompt,
        aspect_ratio=aspect_ratio(request, RATIOS),
        model=model if is_sd3 else None,
        cfg_scale=guidance,
    )
    path = f"stable-image/generate/{'sd3' if is_sd3 else model}"
    return Call(path, form=form, headers={"Accept": "application/json"})


def read(_: str, answer: Any) -> AnswerReading:
    if isinstance(answer, bytes):
        return AnswerReading([Picture(answer)])
    pictures = [Picture(data_url(content)) for content in texts(at(answer, "image"))]
    return AnswerReading(pictures, used=text(at(answer, "model")))


SERVICE = Service(
    "stability",
    request,
    read,
    keys=("STABILITY_API_KEY",),
    address="https://api.stability.ai/v2beta",
    settings=("guidance", "width", "height", "negative_prompt"),
    routes=r"/stable-image(?:/generate(?:/(?:sd3|(?P<model>[\w.-]+)))?)?",
)


def load(options: LoadOptions) -> ServiceModel:
    return load_service(SERVICE, options)
