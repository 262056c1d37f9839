"""``openai:MODEL[@BASE_URL]`` and ``azure:DEPLOYMENT[@BASE_URL]``, through the openai package.

Azure is written by https://learn.microsoft.com/en-us/azure/ai-services/openai/how-to/dall-e.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from pytest_t2i.adapters.endpoints.addresses import OPENAI_ROUTES, is_local
from pytest_t2i.adapters.endpoints.aspects import requested_size
from pytest_t2i.adapters.endpoints.http_client import SLACK, Call, HttpClient
from pytest_t2i.adapters.endpoints.reported_versions import versions_in
from pytest_t2i.adapters.endpoints.services.model import ServiceModel, load_service
from pytest_t2i.adapters.endpoints.services.service import AnswerReading, Service, pictures_in_data
from pytest_t2i.adapters.endpoints.shapes import at, present, text
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Request
from pytest_t2i.protocols import AnswerLimits, LoadOptions

with needs("the model openai", "endpoints"):
    import openai

OPENAI = "https://api.openai.com/v1"
"""Address of OpenAI's own endpoint."""
NO_FORMAT = ("gpt-image", "chatgpt-image")
"""Models without ``response_format``, which always answer with the picture itself."""
API_VERSION = "2025-04-01-preview"
"""Azure's, where AZURE_OPENAI_API_VERSION names no other."""
PATH = "images/generations"


class SdkClient(HttpClient):
    """Sends the requests for pictures through the openai package, whose own retries are off."""

    def __init__(self, address: str, key: str, limits: AnswerLimits, *, is_azure: bool) -> None:
        """Args: the base URL, the key, limits of answers, and whether Azure has the model."""
        super().__init__(address, limits)
        how: dict[str, Any] = {"api_key": key, "max_retries": 0, "http_client": self.http}
        if is_azure:
            sdk = openai.AzureOpenAI(azure_endpoint=address, **azure_query(), **how)
        else:
            sdk = openai.OpenAI(base_url=address, **how)
        self._images = sdk.images.with_raw_response

    def reply(self, call: Call, seconds: float) -> Any:
        """The response of httpx to a request, whatever its status."""
        if call.path != PATH:
            return super().reply(call, seconds)
        body = dict(call.body or {})
        fields = {name: body.pop(name) for name in ("model", "prompt", "n")}
        try:
            answered = self._images.generate(**fields, extra_body=body, timeout=seconds + SLACK)
        except openai.APIStatusError as error:
            return error.response
        return answered.http_response


def azure_query() -> Mapping[str, str]:
    version = os.environ.get("AZURE_OPENAI_API_VERSION", "").strip() or API_VERSION
    return {"api_version": version}


def request(model: str, request: Request) -> Call:
    """The call for one picture, with the names that other servers have for settings."""
    settings, size = request.settings, requested_size(request)
    return Call(
        PATH,
        present(
            model=model,
            prompt=request.prompt,
            n=1,
            seed=request.seed,
            num_inference_steps=settings.steps,
            steps=settings.steps,
            guidance_scale=settings.guidance,
            negative_prompt=settings.negative_prompt,
            size=size and f"{size[0]}x{size[1]}",
            response_format=None if model.startswith(NO_FORMAT) else "b64_json",
        ),
    )


def azure_request(model: str, request: Request) -> Call:
    size = requested_size(request)
    size_words = size and f"{size[0]}x{size[1]}"
    fields = present(prompt=request.prompt, n=1, size=size_words, seed=request.seed)
    return Call(PATH, {"model": model, **fields})


def read(_: str, answer: Any) -> AnswerReading:
    return AnswerReading(pictures_in_data(answer), used=text(at(answer, "model")))


SERVICE = Service(
    "openai",
    request,
    read,
    keys=("OPENAI_API_KEY",),
    address=OPENAI,
    address_variable="OPENAI_BASE_URL",
    version=lambda _: Call("models", method="GET"),
    versions=lambda model, told, place: versions_in(told, model, is_local=is_local(place)),
    client=partial(SdkClient, is_azure=False),
)
AZURE = Service(
    "azure",
    azure_request,
    # A deployment has a name of its own, which no answer repeats.
    lambda _, answer: AnswerReading(pictures_in_data(answer)),
    keys=("AZURE_OPENAI_API_KEY",),
    address_variable="AZURE_OPENAI_ENDPOINT",
    settings=("width", "height"),
    routes=r"/openai(?:/v1)?(?:/deployments(?:/(?P<model>[^/]+)"
    rf"(?:/images/\w+|/chat/completions)?)?)?(?:{OPENAI_ROUTES})?",
    query=azure_query,
    client=partial(SdkClient, is_azure=True),
)


def load(options: LoadOptions) -> ServiceModel:
    return load_service(SERVICE, options)


def load_azure(options: LoadOptions) -> ServiceModel:
    return load_service(AZURE, options)
