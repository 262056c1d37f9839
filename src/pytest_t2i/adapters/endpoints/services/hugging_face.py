"""``hf:PROVIDER/MODEL``: a model of an inference provider, or a dedicated endpoint of one's own.

The library of the hub writes the request of each provider; the client of this package sends it.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlsplit

from pytest_t2i.adapters.endpoints.addresses import OPENAI_ROUTES, netloc, without_route
from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.services import fal, replicate
from pytest_t2i.adapters.endpoints.services.model import ServiceModel
from pytest_t2i.adapters.endpoints.services.service import (
    AnswerReading,
    Picture,
    Service,
    pictures_in_data,
)
from pytest_t2i.adapters.endpoints.shapes import present
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Request
from pytest_t2i.errors import ConfigurationError, GenerationError
from pytest_t2i.protocols import LoadOptions

with needs("the model hf", "endpoints"):
    from huggingface_hub import constants
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.inference._providers import get_provider_helper

PAGES = {"huggingface.co", "www.huggingface.co", "hf.co"}
"""Hosts of pages of models."""
KEY = "HF_TOKEN"
WHERE = "--t2i-model hf:ADDRESS"
EXPECTED = f"{WHERE}: expected the address of a dedicated endpoint, got"


def request(_: str, request: Request) -> Call:
    """The call for one picture, with the names that the library has for settings."""
    settings = request.settings
    parameters = present(
        negative_prompt=settings.negative_prompt,
        height=settings.height,
        width=settings.width,
        num_inference_steps=settings.steps,
        guidance_scale=settings.guidance,
        seed=request.seed,
    )
    return Call("", {"inputs": request.prompt, "parameters": parameters})


def fit_provider(provider: Any, model: str, call: Call, _: Any) -> Call:
    """The call as the provider takes it, which goes through the router of the hub."""
    if constants.is_offline_mode():
        raise ConfigurationError("HF_HUB_OFFLINE is set: unset it to use an endpoint")
    body = call.body or {}
    try:
        built = get_provider_helper(provider, "text-to-image", model).prepare_request(
            inputs=body["inputs"],
            parameters=dict(body["parameters"]),
            headers={},
            model=model,
            api_key="hf_",  # the key itself is added by this package
        )
    except OfflineModeIsEnabled:
        raise ConfigurationError("HF_HUB_OFFLINE is set: unset it to use an endpoint") from None
    except ValueError as error:  # a provider or a model that is unknown to the library
        raise GenerationError(str(error)) from None
    headers = {name: text for name, text in built.headers.items() if name != "authorization"}
    return Call(built.url, built.json, headers=headers)


def read(model: str, answer: Any) -> AnswerReading:
    """What an answer says, in the shape of any provider."""
    if isinstance(answer, bytes):
        return AnswerReading([Picture(answer)])
    flagged = fal.read(model, answer)
    output = replicate.read(model, answer)
    pictures = [*flagged.pictures, *pictures_in_data(answer), *output.pictures]
    return AnswerReading(pictures, refusal=flagged.refusal, failure=output.failure)


SERVICE = Service("hf", request, read, keys=(KEY,), routes=OPENAI_ROUTES)


def load(options: LoadOptions) -> ServiceModel:
    """Load a model of a provider, or a dedicated endpoint.

    Args:
        options: ``source`` is PROVIDER/MODEL, such as fal-ai/black-forest-labs/FLUX.1-dev, or the
            address of a dedicated endpoint; ``answers`` has the limits of an answer.

    Raises:
        MissingExtraError: the library is not installed.
        ConfigurationError: no model is named, or the token is missing.
    """
    source = options.source
    if source.startswith(("http://", "https://")):
        _check_endpoint(source)
        provider, model, address = "hf-inference", source, source
    else:
        provider, _, model = source.partition("/")
        if not provider or not model:
            raise ConfigurationError(
                f"hf: expected a provider and a model, got {source!r}. Use --t2i-model "
                "hf:PROVIDER/MODEL, such as hf:fal-ai/black-forest-labs/FLUX.1-dev."
            )
        address = constants.INFERENCE_PROXY_TEMPLATE.format(provider=provider)
    service = SERVICE._replace(fit=partial(fit_provider, provider))
    return ServiceModel(service, model, address, options.answers)


def _check_endpoint(source: str) -> None:
    if set("@?#") & set(source):
        raise ConfigurationError(
            f"{WHERE}: expected an address without user, query and fragment, which reports would "
            f"show. Give the plain address; the token is read from {KEY}."
        )
    base = without_route(WHERE, source, OPENAI_ROUTES)
    if base != source:
        raise ConfigurationError(
            f"{EXPECTED} a route of OpenAI's protocol: use --t2i-model openai:MODEL@{base}"
        )
    names = urlsplit(source).path.strip("/").split("/")
    if netloc(source) in PAGES and names[0]:
        model = "/".join(names[:2])
        raise ConfigurationError(
            f"{EXPECTED} the page of a model: use --t2i-model hf:PROVIDER/{model}, such as "
            f"hf:fal-ai/{model}"
        )
