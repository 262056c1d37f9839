"""The model of any service: limits, retries, refusals, budget, and jobs that are gone on with.

A job that was begun is asked for again, rather than begun (and paid) anew.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from threading import Lock
from typing import Any

from pytest_t2i.adapters.endpoints.addresses import is_address, without_route
from pytest_t2i.adapters.endpoints.answers import (
    BAD_REQUEST,
    UNPROCESSABLE,
    BrokenPictureError,
    FinalFaultError,
    PassingFaultError,
    RefusedError,
    fault_in,
    is_replaced,
    read_answer,
)
from pytest_t2i.adapters.endpoints.endpoint_model import EndpointModel
from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.reported_versions import other_model
from pytest_t2i.adapters.endpoints.services.service import Picture, Service
from pytest_t2i.data import Generated, GenerationSettings, Money, Request
from pytest_t2i.errors import ConfigurationError, GenerationError, T2IError
from pytest_t2i.protocols import AnswerLimits, LoadOptions
from pytest_t2i.settings import merged

OPTIONAL = ("seed", "response_format", "modalities")
"""Fields of a request that a server may lack; without seeds every picture is drawn anew."""
TWINS = ("num_inference_steps", "steps")
"""Two names of one setting, of which a strict server accepts one."""
UNKNOWN = re.compile(
    r"unknown|unexpected|unrecogni[sz]ed|unsupported|not (supported|permitted|allowed|known)|extra",
    re.IGNORECASE,
)
"""Messages for a field that a server does not support."""
HOLDERS = ("input", "parameters", "generationConfig", "imageGenerationConfig")
"""Fields of a body that hold the fields of a picture, where these do not stand by themselves."""
FIRST_LOOK, LONGEST_LOOK = 0.25, 5.0
"""Seconds between two looks at a job: at first, and at most."""
MOST_PRICES = 3
"""Number of different prices that are reported."""
REPLACED = "the service has replaced the picture that it refuses"


class ServiceModel(EndpointModel):
    """A TextToImage of one service."""

    def __init__(self, service: Service, model: str, address: str, limits: AnswerLimits) -> None:
        """Args: the service, the model's name there, the base URL, and limits."""
        self.service, self.kind = service.name, service
        self.key_variable = service.key_variable(address)
        super().__init__(model, address, limits)
        self._client = service.client(address, self.key or "none", limits)
        self._description: Any = None
        self._not_taken: set[str] = set()
        self._prices: set[Money] = set()
        self._lock = Lock()
        if service.is_described:
            self.settings_words = "checked by the service's description of the model"

    def attempts(self, request: Request) -> Callable[[float], Generated]:
        """The attempts to get one picture; what was begun or answered is gone on with."""
        job: Call | None = None
        answer: Any = None

        def attempt(seconds: float) -> Generated:
            nonlocal job, answer
            until = time.monotonic() + seconds
            if answer is None and job is None:
                self._check(request.settings)
                answer = self._sent(request, until)
                job = self.kind.read(self.model, answer).job
            picture: Picture | None = None
            try:
                if job is not None:
                    answer = self._ended(job, until)
                    job = None
                picture = self._picture_in(answer)
                image = self.picture(self._content(picture, until))
            except T2IError as error:
                # A job and a file that come late are waited for, and cost nothing more; an error in
                # the answer is asked for anew.
                is_late = job is not None or picture is not None
                if not is_late or isinstance(error, BrokenPictureError):
                    job = answer = None
                if isinstance(error, PassingFaultError | FinalFaultError):
                    error.is_free = False
                if isinstance(error, PassingFaultError):
                    error.goes_on = answer is not None
                raise
            return Generated(image, revised_prompt=picture.revised_prompt)

        return attempt

    def ask(self, request: Request, seconds: float) -> Generated:
        return self.attempts(request)(seconds)

    def answer(self, call: Call, until: float) -> Any:
        if self.kind.sign is not None:
            call = self.kind.sign(call, self.address)
        elif self.key:
            call = call._replace(headers={**call.headers, **self.kind.header(self.key)})
        return self._client.answer(call, max(until - time.monotonic(), 0.001))

    def fields(self, request: Request) -> Mapping[str, Any] | None:
        """The fields of the request for one picture; None where a workflow has them all."""
        return _held(self.kind.request(self.model, request))[1] if self.kind.takes_extra else None

    def ask_versions(self, seconds: float) -> Mapping[str, str]:
        """The version of the model, where the service says it."""
        if self.kind.version is None:
            return {}
        answer = self.answer(self.kind.version(self.model), time.monotonic() + seconds)
        return self.kind.versions(self.model, answer, self.address)

    def _check(self, settings: GenerationSettings) -> None:
        """Raise ConfigurationError for a setting that the service does not take."""
        names = {"steps": "steps", "guidance": "guidance", "width": "size", "height": "size"}
        for name, option in {**names, "negative_prompt": "negative-prompt"}.items():
            if getattr(settings, name) is not None and name not in self.kind.settings:
                raise ConfigurationError(
                    f"{self.service}: takes no {option.replace('-', ' ')}: leave --t2i-{option} out"
                )

    def _sent(self, request: Request, until: float) -> Any:
        """The answer to the request; an optional field that is not known there is left out."""
        call = self._with_extra(self.kind.request(self.model, request))
        if self.kind.fit is not None:
            call = self.kind.fit(self.model, call, self._described(until))
        if call.body is not None:
            accepted = {k: v for k, v in call.body.items() if k not in self._not_taken}
            call = call._replace(body=accepted)
        try:
            return self.answer(call, until)
        except FinalFaultError as error:
            name = _unknown_field(error, {*(call.body or {})} - {*self.extra})
            if name is None:
                raise
        with self._lock:
            is_new = name not in self._not_taken
            if is_new and not (name in TWINS and self._not_taken & {*TWINS}):
                self._not_taken.add(name)
        if is_new and name == "seed":
            self.say("the server does not accept a seed: every picture is drawn anew")
        return self._sent(request, until)

    def _with_extra(self, call: Call) -> Call:
        if not self.extra:
            return call
        holder, own = _held(call)
        fields = merged(own, self.extra)
        if call.body is None:
            form = {k: v if isinstance(v, str) else json.dumps(v) for k, v in fields.items()}
            return call._replace(form=form)
        return call._replace(body=fields if holder is None else {**call.body, holder: fields})

    def _described(self, until: float) -> Any:
        with self._lock:
            if self.kind.is_described and self.kind.version and self._description is None:
                self._description = self.answer(self.kind.version(self.model), until)
        return self._description

    def _ended(self, job: Call, until: float) -> Any:
        """The answer of a job that has ended; one without content is not there yet."""
        pause = FIRST_LOOK
        while True:
            if until - time.monotonic() <= pause:
                raise PassingFaultError(
                    "the service has not finished the picture yet", is_busy=True, kind="unfinished"
                )
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_LOOK)
            try:
                answer = self.answer(job, until)
            except PassingFaultError:
                continue
            if answer and self.kind.read(self.model, answer).job is None:
                return answer

    def _picture_in(self, answer: Any) -> Picture:
        pictures = self.kind.read(self.model, answer)
        wanted_model = self.model or self.versions.get("sd_model_checkpoint", "")
        if problem := other_model(wanted_model, pictures.used, has_dates=self.kind.has_dates):
            raise GenerationError(problem)
        plain = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        if pictures.refusal or (not isinstance(answer, bytes) and is_replaced(answer)):
            raise RefusedError(pictures.refusal or REPLACED)
        if pictures.failure:
            if refusal := read_answer(pictures.failure).refusal:
                raise RefusedError(refusal)
            raise BrokenPictureError(f"the service has failed: {pictures.failure}")
        self._compare_price(pictures.price)
        if pictures.pictures:
            return pictures.pictures[0]
        if fault := fault_in(plain):
            raise fault
        if pictures.filtered:
            raise RefusedError(pictures.filtered)
        raise BrokenPictureError("expected a picture in the answer, got none")

    def _content(self, picture: Picture, until: float) -> bytes:
        content: Any = picture.content
        if isinstance(content, Call):
            content = self.answer(content, until)
        elif isinstance(content, str):
            content = self._client.picture(content, max(until - time.monotonic(), 0.001))
        if not isinstance(content, bytes):
            raise BrokenPictureError("expected a picture in the answer, got something else")
        return content

    def _compare_price(self, charged: Money | None) -> None:
        """Report, once an amount, that the service charged another price than the run counts."""
        price = None if self.spending is None else self.spending.price
        if charged is None or price is None or charged.currency != price.currency:
            return
        with self._lock:
            is_new = charged not in self._prices and len(self._prices) < MOST_PRICES
            self._prices.add(charged)
        if is_new and charged != price:
            self.say(f"the service charged {charged} for a picture; the run counts {price}")


def _held(call: Call) -> tuple[str | None, Mapping[str, Any]]:
    """The field of the body that holds the fields of a picture, if any, and these fields."""
    body: Mapping[str, Any] = (call.form if call.body is None else call.body) or {}
    holder = next((name for name in HOLDERS if name in body), None)
    return holder, body if holder is None else body[holder]


def _unknown_field(error: FinalFaultError, body: Collection[str]) -> str | None:
    """An optional field that the server does not support; None where the error is another one."""
    if error.status not in {BAD_REQUEST, UNPROCESSABLE} or not UNKNOWN.search(str(error)):
        return None
    twins = TWINS if body >= {*TWINS} else ()  # type: ignore[operator]
    names = (name for name in (*OPTIONAL, *twins) if name in body)
    return next((name for name in names if re.search(rf"\b{name}\b", str(error))), None)


def load_service(service: Service, options: LoadOptions) -> ServiceModel:
    model, address = split_source(service, options.source)
    return ServiceModel(service, model, address, options.answers)


def split_source(service: Service, source: str) -> tuple[str, str]:
    """Model and base URL of ``MODEL[@BASE_URL]``.

    Raises ConfigurationError for an address that cannot be used, or without a model.
    """
    where = f"--t2i-model {service.name}:MODEL@BASE_URL"
    if match := re.fullmatch(r"(.*?)@(https?://.*)", source, re.IGNORECASE):
        model, base = match[1], match[2]
        address = without_route(where, base, service.routes, model, **service.query())
        if set("@?#") & set(address):
            raise ConfigurationError(
                f"{where}: expected an address without user, query and fragment, which reports "
                f"would show{_variable(service, '. Set the environment variable {} instead')}"
            )
    elif re.search(r"@[\w.-]+:\d+(/|$)|@\w+://", source):
        raise ConfigurationError(
            f"{where}: expected a base URL that begins with http:// or https://, got "
            f"{source.rpartition('@')[2]!r}: add the scheme"
        )
    else:
        model, variable = source, service.address_variable
        base = os.environ.get(variable, "").strip() if variable else ""
        address = without_route(variable, base, service.routes, model, **service.query())
    address = address or service.address
    if not is_address(address):
        url = address.rpartition("@")[2].partition("?")[0]
        raise ConfigurationError(
            f"{service.name}: expected a base URL such as https://HOST, got {url!r}: use {where}"
            f"{_variable(service, ', or set {}')}"
        )
    if service.needs_model and not model:
        raise ConfigurationError(
            f"{service.name}: expected the name of a model, got none: use --t2i-model "
            f"{service.name}:MODEL[@BASE_URL]"
        )
    return model, address


def _variable(service: Service, words: str) -> str:
    return words.format(service.address_variable) if service.address_variable else ""
