"""``openai:MODEL[@BASE_URL]``: endpoints with OpenAI's images protocol. Imports no torch."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from threading import Lock
from typing import Any

from pytest_t2i.adapters.endpoints.addresses import OPENAI_ROUTES, base_url, without_route
from pytest_t2i.adapters.endpoints.answers import (
    BrokenPictureError,
    RefusedError,
    body_of,
    fault_in,
    is_replaced,
    read_answer,
    too_large,
)
from pytest_t2i.adapters.endpoints.endpoint_model import EndpointModel
from pytest_t2i.adapters.endpoints.hosts import is_local
from pytest_t2i.adapters.endpoints.http_client import UNKNOWN, HttpClient, decoded
from pytest_t2i.adapters.endpoints.http_limits import is_cut
from pytest_t2i.adapters.endpoints.reported_versions import other_model, versions_in
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Generated, Request
from pytest_t2i.errors import ConfigurationError, GenerationError
from pytest_t2i.protocols import AnswerLimits, LoadOptions
from pytest_t2i.settings import merged

with needs("the model openai", "endpoints"):
    import openai

KEY, BASE_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
"""Environment variables of key and address."""
OPENAI = "https://api.openai.com/v1"
"""Address of OpenAI's own endpoint."""
NO_FORMAT = ("gpt-image", "chatgpt-image")
"""Models without ``response_format``, which always answer with the picture itself."""
SPARED = ("seed", "response_format")
"""Parameters that a server may lack; without seeds every picture is drawn anew."""
STEPS = ("num_inference_steps", "steps")
"""Two names of one setting, of which a strict server accepts one."""


def load(options: LoadOptions) -> OpenAIImages:
    """Load a model behind an endpoint.

    Args:
        options: ``source`` is MODEL or MODEL@BASE_URL; ``answers`` has the limits of an answer.

    Raises:
        MissingExtraError: the library is not installed.
        ConfigurationError: no model is named, the address is invalid, or the key is missing.
    """
    model, address = _named(options.source)
    if not model:
        raise ConfigurationError(
            "openai: expected the name of a model, got none: use --t2i-model "
            "openai:MODEL[@BASE_URL]."
        )
    return OpenAIImages(model, address, options.answers)


def _named(source: str) -> tuple[str, str]:
    """Model and base URL. Names of models may contain an @, as Cloudflare's do."""
    model, at, address = source, "", os.environ.get(BASE_URL, "")
    if match := re.fullmatch(r"(.*?)@(https?://.*)", source, re.IGNORECASE):
        model, at, address = match[1], "--t2i-model", match[2]
        address = without_route("--t2i-model openai:MODEL@BASE_URL", address, OPENAI_ROUTES)
    elif re.search(r"@[\w.-]+:\d+(/|$)|@\w+://", source):
        raise ConfigurationError(
            "--t2i-model openai:MODEL@BASE_URL: expected a base URL that begins with http:// or "
            f"https://, got {source.rpartition('@')[2]!r}: add the scheme"
        )
    if at and ("@" in address or "?" in address or "#" in address):
        raise ConfigurationError(
            "--t2i-model openai:MODEL@BASE_URL: expected an address without user, query and "
            "fragment, which reports would show. Set the environment variable "
            f"{BASE_URL} instead."
        )
    return model, base_url(
        address, at or BASE_URL, os.environ.get(KEY, "").strip() or " "
    ) or OPENAI


class OpenAIImages(EndpointModel):
    """A TextToImage through ``images.generate`` of the openai library."""

    service, key_variable = "openai", KEY

    def __init__(self, model: str, address: str, limits: AnswerLimits) -> None:
        super().__init__(model, address, limits)
        self._not_taken: set[str] = set()
        self._learning = Lock()
        self._http = HttpClient(address, limits)
        self._client = openai.OpenAI(
            api_key=self.key or "none",
            base_url=address,
            max_retries=0,  # EndpointModel repeats requests
            http_client=self._http.http,
        )

    def ask(self, request: Request, seconds: float) -> Generated:
        """Request one picture; optional parameters that the server refuses are left out later."""
        own = self.fields(request)
        model, prompt, n = (own.pop(name) for name in ("model", "prompt", "n"))
        sent = merged(own, self.extra)
        try:
            answered = self._client.images.with_raw_response.generate(
                model=model, prompt=prompt, n=n, timeout=seconds, extra_body=sent
            )
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            name = _unknown(error, own)
            if name is None or not self._is_spared(name):
                raise
        else:
            return self._picture(answered, seconds)
        return self.ask(request, seconds)

    def ask_versions(self, seconds: float) -> Mapping[str, str]:
        """Versions of the model in the answer to ``GET /models``."""
        answered = self._client.models.with_raw_response.list(timeout=seconds).http_response
        if is_cut(answered):
            return {}
        try:
            body = json.loads(answered.text)
        except (ValueError, RecursionError):
            return {}
        return versions_in(body, self.model, is_local=is_local(self.address))

    def fields(self, request: Request) -> dict[str, Any]:
        """The fields of the request for one picture."""
        settings = request.settings
        sent: dict[str, Any] = {
            "model": self.model,
            "prompt": request.prompt,
            "n": 1,
            "seed": request.seed,
            **dict.fromkeys(STEPS, settings.steps),
            "guidance_scale": settings.guidance,
            "negative_prompt": settings.negative_prompt,
            "response_format": None if self.model.startswith(NO_FORMAT) else "b64_json",
        }
        if settings.width and settings.height:
            sent["size"] = f"{settings.width}x{settings.height}"
        return {k: v for k, v in sent.items() if v is not None and k not in self._not_taken}

    def _is_spared(self, name: str) -> bool:
        """Leave a parameter out from now on, if it is optional; return whether it is."""
        with self._learning:
            if name in self._not_taken:  # another thread has found this meanwhile
                return True
            if name not in SPARED and (name not in STEPS or self._not_taken & {*STEPS}):
                return False
            self._not_taken.add(name)
        if name == "seed":
            self.say("the server does not accept a seed: every picture is drawn anew")
        return True

    def _picture(self, answered: Any, seconds: float) -> Generated:
        if is_cut(answered.http_response):
            raise too_large(self.limits)
        try:
            parsed = answered.parse()
        except (ValueError, RecursionError) as error:
            # The error's own text may quote the body, which may contain the key.
            raise BrokenPictureError(f"no valid JSON ({type(error).__name__})") from None
        if isinstance(parsed, str):
            if problem := fault_in(parsed):
                raise problem
            kind = answered.http_response.headers.get("content-type", "no content type")
            raise GenerationError(
                f"expected JSON, got {kind.partition(';')[0]}; check that the base URL is that of "
                "an images endpoint, which often ends in /v1"
            )
        used = getattr(parsed, "model", None)
        if another := other_model(self.model, used if isinstance(used, str) else None):
            raise GenerationError(another)
        data = getattr(parsed, "data", None)
        first = data[0] if isinstance(data, list) and data else None
        for name, reader in (
            ("b64_json", decoded),
            ("url", lambda url: self._http.fetched(url, str(answered.http_response.url), seconds)),
        ):
            content = getattr(first, name, None)
            if content and isinstance(content, str):
                revised_prompt = getattr(first, "revised_prompt", None)
                prompt = revised_prompt if isinstance(revised_prompt, str) else None
                if is_replaced(_fields_beside(first)):
                    raise RefusedError("the service has replaced the picture that it refuses")
                return Generated(self.picture(reader(content)), revised_prompt=prompt)
        raise fault_in(body_of(answered.http_response)) or BrokenPictureError(
            "expected a picture in the answer, got none"
        )


def _fields_beside(picture: Any) -> dict[str, Any]:
    """The fields of a picture's entry in an answer, also those that the library does not know."""
    return {**getattr(picture, "__dict__", {}), **(getattr(picture, "model_extra", None) or {})}


def _unknown(error: Any, sent: Mapping[str, Any]) -> str | None:
    """The parameter that a server does not support; None where the error is another one."""
    words = read_answer(body_of(error.response)).words
    if not UNKNOWN.search(words):
        return None
    if error.param in sent:
        return str(error.param)
    return next((name for name in sent if re.search(rf"\b{name}\b", words)), None)
