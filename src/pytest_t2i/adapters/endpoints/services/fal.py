"""``fal:MODEL``: fal's synchronous endpoint.

Written by https://fal.ai/models/fal-ai/flux-2-klein/4b/api and https://docs.fal.ai/errors.
"""

from __future__ import annotations

from typing import Any

from pytest_t2i.adapters.endpoints.aspects import requested_size
from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.services.model import REPLACED, ServiceModel, load_service
from pytest_t2i.adapters.endpoints.services.service import AnswerReading, Picture, Service, data_url
from pytest_t2i.adapters.endpoints.shapes import at, items, present, text
from pytest_t2i.data import Request
from pytest_t2i.protocols import LoadOptions


def request(model: str, request: Request) -> Call:
    settings, size = request.settings, requested_size(request)
    return Call(
        model,
        present(
            prompt=request.prompt,
            seed=request.seed,
            num_images=1,
            output_format="png",
            num_inference_steps=settings.steps,
            guidance_scale=settings.guidance,
            negative_prompt=settings.negative_prompt,
            image_size=size and {"width": size[0], "height": size[1]},
        ),
    )


def read(_: str, answer: Any) -> AnswerReading:
    """What an answer says; a black picture stands in the place of one that is flagged."""
    entries = [*items(answer, "images"), at(answer, "image")]
    contents = (text(at(entry, "url"), entry) or data_url(at(entry, "image")) for entry in entries)
    is_flagged = True in items(answer, "has_nsfw_concepts")
    pictures = [Picture(content) for content in contents if content]
    refusal = REPLACED if is_flagged else ""
    return AnswerReading(pictures, refusal=refusal, used=text(at(answer, "model")))


SERVICE = Service(
    "fal",
    request,
    read,
    keys=("FAL_KEY",),
    address="https://fal.run",
    routes=r"/(?P<model>{model}|fal-ai/.+?)(?:/requests.*)?",
    header=lambda key: {"Authorization": f"Key {key}"},
)


def load(options: LoadOptions) -> ServiceModel:
    return load_service(SERVICE, options)
