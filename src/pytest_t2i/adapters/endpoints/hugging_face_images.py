"""``hf:PROVIDER/MODEL``: a model of a Hugging Face inference provider. Imports no torch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import urlsplit
from urllib.request import getproxies

from pytest_t2i.adapters.endpoints.addresses import OPENAI_ROUTES, without_route
from pytest_t2i.adapters.endpoints.answers import (
    BrokenPictureError,
    body_of,
    fault_in,
    fault_of,
    fault_of_status,
    fetch_fault,
    proxy_fault,
    same_host,
    too_large,
    unreadable,
)
from pytest_t2i.adapters.endpoints.endpoint_model import EndpointModel
from pytest_t2i.adapters.endpoints.hosts import named_again, netloc, public_or
from pytest_t2i.adapters.endpoints.http_limits import PLAIN, cut_at, end_with_call, is_cut
from pytest_t2i.adapters.endpoints.paid_requests import UNREACHABLE
from pytest_t2i.adapters.endpoints.proxies import check_environment, proxy_of
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Request
from pytest_t2i.errors import ConfigurationError, GenerationError, T2IError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

with needs("the model hf", "endpoints"):
    from huggingface_hub import InferenceClient, constants, get_session
    from huggingface_hub.errors import OfflineModeIsEnabled

if TYPE_CHECKING:
    from PIL.Image import Image

PAGES = {"huggingface.co", "www.huggingface.co", "hf.co"}
"""Hosts of pages of models."""
KEY = "HF_TOKEN"
"""Environment variable of the token."""


def load(options: LoadOptions) -> HuggingFaceImages:
    """Load a model of a provider.

    Args:
        options: ``source`` is PROVIDER/MODEL, such as fal-ai/black-forest-labs/FLUX.1-dev, or the
            address of a dedicated endpoint; ``answers`` has the limits of an answer.

    Raises:
        MissingExtraError: the library is not installed.
        ConfigurationError: no model is named, or the token is missing.
    """
    source = options.source
    if source.startswith(("http://", "https://")):
        if set("@?#") & set(source):
            raise ConfigurationError(
                "--t2i-model hf:ADDRESS: expected an address without user, query and fragment, "
                f"which reports would show. Give the plain address; the token is read from {KEY}."
            )
        base = without_route("--t2i-model hf:ADDRESS", source, OPENAI_ROUTES)
        if base != source:
            raise ConfigurationError(
                "--t2i-model hf:ADDRESS: expected the address of a dedicated endpoint, got a route "
                f"of OpenAI's protocol: use --t2i-model openai:MODEL@{base}"
            )
        if netloc(source) in PAGES and urlsplit(source).path.strip("/"):
            model = "/".join(urlsplit(source).path.strip("/").split("/")[:2])
            raise ConfigurationError(
                "--t2i-model hf:ADDRESS: expected the address of a dedicated endpoint, got the "
                f"page of a model: use --t2i-model hf:PROVIDER/{model}, such as hf:fal-ai/{model}"
            )
        return HuggingFaceImages("hf-inference", source, source, options.answers)
    provider, slash, model = source.partition("/")
    if not (provider and slash and model):
        raise ConfigurationError(
            f"hf: expected a provider and a model, got {source!r}. Use --t2i-model "
            "hf:PROVIDER/MODEL, such as hf:fal-ai/black-forest-labs/FLUX.1-dev."
        )
    address = constants.INFERENCE_PROXY_TEMPLATE.format(provider=provider)
    return HuggingFaceImages(provider, model, address, options.answers)


class HuggingFaceImages(EndpointModel):
    """A TextToImage through ``InferenceClient.text_to_image``."""

    service, key_variable = "hf", KEY

    def __init__(self, provider: str, model: str, address: str, limits: AnswerLimits) -> None:
        super().__init__(model, address, limits)
        _check_session()
        self._provider: Any = provider

    def ask(self, request: Request, seconds: float) -> Image:
        """Request one picture."""
        hosts = {_netloc(self.address), _netloc(constants.ENDPOINT)}
        with _Bounds(hosts, self.limits) as bounds:
            try:
                picture = self._asked(request, seconds)
            except Exception as error:  # noqa: BLE001 - libraries raise errors of their own
                raise self._error(error, bounds) from None
            if bounds.is_passed:
                raise too_large(self.limits)
            return picture

    def _error(self, error: Exception, bounds: _Bounds) -> Exception:
        """The error for an exception of the library, with what the service has answered."""
        if bounds.is_passed:
            return too_large(self.limits)
        fault = _meaning(error, bounds)
        unreached = fault_of(error)
        if getattr(unreached, "kind", "") == UNREACHABLE and (proxy := proxy_of(self.address)):
            return proxy_fault(proxy, error)
        if bounds.is_answered:
            fault = bounds.fault or fetch_fault(fault or error)
        elif isinstance(fault, BrokenPictureError):
            fault = bounds.fault or fault
        return fault or error

    def fields(self, request: Request) -> dict[str, Any]:
        """The arguments of the library for one picture."""
        settings = request.settings
        sent = {
            "prompt": request.prompt,
            "model": self.model,
            "negative_prompt": settings.negative_prompt,
            "width": settings.width,
            "height": settings.height,
            "num_inference_steps": settings.steps,
            "guidance_scale": settings.guidance,
            "seed": request.seed,
        }
        return {name: value for name, value in sent.items() if value is not None}

    def _asked(self, request: Request, seconds: float) -> Image:
        further = {"extra_body": dict(self.extra)} if self.extra else {}
        picture = self._client(seconds).text_to_image(**self.fields(request), **further)
        return cast("Image", picture)

    def _client(self, seconds: float) -> InferenceClient:
        """A client for each attempt, as a client has one time-out; connections are shared."""
        # The token in the library's file is not used: keys are read from the environment only.
        return InferenceClient(provider=self._provider, api_key=self.key or "none", timeout=seconds)


def _check_session() -> None:
    """Raise ConfigurationError where the library cannot read the variables of proxies."""
    check_environment()
    try:
        get_session()
    except Exception as error:  # noqa: BLE001 - httpx raises classes of its own
        raise ConfigurationError(
            f"NO_PROXY={getproxies().get('no', '')}: the library of the model hf cannot read it "
            f"({error}): leave out addresses in brackets and networks of IPv6"
        ) from None


def _netloc(address: str) -> str:
    """Host and port as the library writes them: without a default port."""
    return netloc(str(get_session().build_request("GET", address).url))


def _meaning(error: Exception, bounds: _Bounds) -> Exception | None:
    """The error for an exception of the library; None where ``fault_of`` classifies it."""
    from PIL import UnidentifiedImageError
    from PIL.Image import DecompressionBombError

    if isinstance(error, T2IError) or getattr(error, "response", None) is not None:
        return None
    if isinstance(error, OfflineModeIsEnabled):
        return ConfigurationError("HF_HUB_OFFLINE is set: unset it to use an endpoint")
    if isinstance(error, UnidentifiedImageError | DecompressionBombError):
        return unreadable(bounds.latest)
    if isinstance(error, JSONDecodeError | LookupError | TypeError | AttributeError):
        return BrokenPictureError(
            f"expected the answer of a provider, got something else ({type(error).__name__})"
        )
    # A ValueError stands for a provider or a model that is unknown to the library.
    return GenerationError(str(error)) if isinstance(error, ValueError) else None


_here = threading.local()
"""Thread-local ``bounds``: other threads may download weights with the same session."""


class _Bounds:
    """Restricts the hosts of a thread's requests and the size of their answers."""

    def __init__(self, hosts: set[str], limits: AnswerLimits) -> None:
        self._check, self._cut = public_or(hosts), cut_at(limits.bytes)
        self._responses: list[Any] = []

    def __enter__(self) -> Self:
        hooks = get_session().event_hooks
        for kind, hook in (("request", _asking), ("response", _answered)):
            if hook not in hooks[kind]:
                hooks[kind].append(hook)
        _here.bounds = self
        return self

    def __exit__(self, *_: object) -> None:
        del _here.bounds

    @property
    def is_passed(self) -> bool:
        """Whether an answer exceeded the size limit."""
        return any(is_cut(response) for response in self._responses)

    @property
    def is_answered(self) -> bool:
        """Whether the service has answered with HTTP 200; it charges what it answers."""
        return any(response.is_success for response in self._posts)

    @property
    def fault(self) -> T2IError | None:
        """The error in the service's answer, which the library may not have understood."""
        response = next(self._posts, None)
        if response is None:
            return None
        return fault_in(body_of(response)) if response.is_success else fault_of_status(response)

    @property
    def latest(self) -> bytes | None:
        """Body of the latest answer; None without one."""
        return self._responses[-1].content if self._responses else None

    @property
    def _posts(self) -> Iterator[Any]:
        """Answers of the service; pictures are fetched with GET."""
        for response in self._responses:
            if response.request.method == "POST" and not response.has_redirect_location:
                yield response

    def of_request(self, request: Any) -> None:
        """Restrict a request's host, and request an uncompressed answer."""
        self._check(request)
        end_with_call(request)
        request.headers.update(PLAIN)

    def of_response(self, response: Any) -> None:
        """End the body at the size limit; raise RedirectedError for a POST to another host."""
        named_again(response)
        same_host(response)
        self._cut(response)
        self._responses.append(response)


def _asking(request: Any) -> None:
    bounds = getattr(_here, "bounds", None)
    if bounds is not None:
        bounds.of_request(request)


def _answered(response: Any) -> None:
    bounds = getattr(_here, "bounds", None)
    if bounds is not None:
        bounds.of_response(response)
