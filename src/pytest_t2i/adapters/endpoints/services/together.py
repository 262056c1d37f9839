"""``together:MODEL``: Together's images.

Written by https://docs.together.ai/reference/post-images-generations, as clients quote it.
"""

from __future__ import annotations

from typing import Any

from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.services.model import ServiceModel, load_service
from pytest_t2i.adapters.endpoints.services.service import AnswerReading, Service, pictures_in_data
from pytest_t2i.adapters.endpoints.shapes import at, present, text
from pytest_t2i.data import Request
from pytest_t2i.protocols import LoadOptions


def request(model: str, request: Request) -> Call:
    settings = request.settings
    return Call(
        "images/generations",
        present(
            model=model,
            prompt=request.prompt,
            n=1,
            seed=request.seed,
            steps=settings.steps,
            guidance_scale=settings.guidance,
            width=settings.width,
            height=settings.height,
            negative_prompt=settings.negative_prompt,
            response_format="base64",
        ),
    )


def read(_: str, answer: Any) -> AnswerReading:
    return AnswerReading(pictures_in_data(answer), used=text(at(answer, "model")))


SERVICE = Service(
    "together", request, read, keys=("TOGETHER_API_KEY",), address="https://api.together.xyz/v1"
)


def load(options: LoadOptions) -> ServiceModel:
    return load_service(SERVICE, options)
