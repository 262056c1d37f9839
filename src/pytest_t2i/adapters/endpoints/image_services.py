"""Services that make pictures behind HTTP, each described by four functions. Imports no torch.

A service says how a request is written, where the pictures of an answer are, what a refusal looks
like beyond the shapes of ``refusals.toml``, and what the answer says of its price. One model class
does the rest for all of them: limits, retries, refusals, budget, and jobs that are asked for again
rather than begun (and paid) anew.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote, unquote, urlencode
from uuid import uuid4

from pytest_t2i.adapters.endpoints.addresses import OPENAI_ROUTES, is_address, without_route
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
from pytest_t2i.adapters.endpoints.aspects import requested_size
from pytest_t2i.adapters.endpoints.endpoint_model import ALIASES, EndpointModel
from pytest_t2i.adapters.endpoints.hosts import netloc
from pytest_t2i.adapters.endpoints.http_client import UNKNOWN, Call, HttpClient
from pytest_t2i.adapters.endpoints.reported_versions import other_model
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Generated, GenerationSettings, Money, Request, digest
from pytest_t2i.errors import ConfigurationError, GenerationError, some
from pytest_t2i.files import parse_json, read_text
from pytest_t2i.protocols import AnswerLimits, LoadOptions
from pytest_t2i.settings import merged

OPTIONAL = ("seed", "response_format", "modalities")
"""Fields of a request that a server may lack; without seeds every picture is drawn anew."""
HOLDERS = ("input", "parameters", "generationConfig", "imageGenerationConfig")
"""Fields of a body that hold the fields of a picture, where these do not stand by themselves."""
FIRST_LOOK, LONGEST_LOOK = 0.25, 5.0
"""Seconds between two looks at a job: at first, and at most."""


class Picture(NamedTuple):
    """A picture in an answer."""

    text: str | bytes | Call
    """Base64, a data URL, an address, the file itself, or a call that answers with the file."""
    revised_prompt: str | None = None


class Service:
    """A kind of service: the four functions, and what it needs."""

    name = ""
    """Name in ``--t2i-model NAME:MODEL[@BASE_URL]``."""
    keys: tuple[str, ...] = ()
    """Environment variables of the key; the first that is set counts."""
    address_variable = ""
    """Environment variable of the base URL."""
    address = ""
    """Base URL where none is given; "" where there is no default."""
    document = "not checked"
    """The documentation by which requests and answers were written, and when it was read."""
    settings: tuple[str, ...] = ()
    """Settings that the service takes; another one that was given ends the run."""
    routes: str = OPENAI_ROUTES
    """Pattern of what requests append to the base URL, which users paste with it; its group
    ``model`` is a name, and ``{model}`` that of the model."""
    needs_model = True
    """Whether a model must be named."""
    needs_key = True
    """Whether a public address needs a key."""
    has_dates = True
    """Whether names of models may have a date or a version behind them."""
    takes_extra = True
    """Whether a request may have further fields."""
    has_forms = False
    """Whether ``version`` describes the fields that a model takes."""

    @property
    def query(self) -> Mapping[str, str]:
        """Parameters of requests, with underscores for hyphens."""
        return {}

    def key_variable(self, address: str) -> str:  # noqa: ARG002 - most have one key
        """The environment variable of the key for this base URL: the first that is set."""
        return next((name for name in self.keys if os.environ.get(name, "").strip()), self.keys[0])

    def header(self, key: str) -> Mapping[str, str]:
        """The header of the key."""
        return {"Authorization": f"Bearer {key}"}

    def signed(self, call: Call, address: str, key: str) -> Call:  # noqa: ARG002 - one signs
        """The call with what proves who sends it."""
        return call._replace(headers={**call.headers, **self.header(key)}) if key else call

    def call(self, model: str, request: Request) -> Call:
        """The request for one picture."""
        raise NotImplementedError

    def fitted(self, call: Call, description: Any) -> Call:  # noqa: ARG002 - most have one form
        """The call with the names of fields that this model takes, as its description says."""
        return call

    def check_fields(self, names: Iterable[str], description: Any) -> None:
        """Raise ConfigurationError for further fields that the model's description lacks."""

    def pictures(self, answer: Any) -> Iterable[Picture]:
        """The pictures of an answer; none where it has none."""
        raise NotImplementedError

    def refusal(self, answer: Any) -> str | None:  # noqa: ARG002 - most have a common shape
        """The reason of a refusal in an answer beside a picture; None where nothing is refused."""
        return None

    def price(self, answer: Any) -> Money | None:  # noqa: ARG002 - most do not say
        """What the picture cost, where the answer says so."""
        return None

    def failure(self, answer: Any) -> str | None:  # noqa: ARG002 - most answer with a status
        """Why a job has failed; None where it has not."""
        return None

    def job(self, answer: Any) -> Call | None:  # noqa: ARG002 - most answer at once
        """The next look at a job that has not ended; None for a final answer."""
        return None

    def looked(self, job: Call, answer: Any) -> tuple[Call | None, Any]:  # noqa: ARG002 - one uses it
        """The next look, None where the job has ended, and the state of the job."""
        return self.job(answer), answer

    def version(self, model: str) -> Call | None:  # noqa: ARG002 - most do not say
        """The request for the version of the model."""
        return None

    def versions(self, model: str, answer: Any) -> Mapping[str, str]:  # noqa: ARG002 - most are silent
        """The version in the answer to ``version``."""
        return {}

    def used(self, answer: Any) -> str | None:
        """The model that made the picture, where the answer names it."""
        return next(_texts(at(answer, "model")), None)

    def filtered(self, model: str, answer: Any) -> str:  # noqa: ARG002 - one is silent
        """Why an answer without picture and reason is a refusal, as documented; else ""."""
        return ""


def items(value: Any, *names: str | int) -> list[Any]:
    """The elements of a list deep in an answer; [] where the answer has another shape.

    >>> items({"data": [{"url": "a"}]}, "data")
    [{'url': 'a'}]
    """
    inner = at(value, *names)
    return inner if isinstance(inner, list) else []


def at(value: Any, *names: str | int) -> Any:
    """A value deep in an answer; None where the answer has another shape.

    >>> at({"a": [{"b": 3}]}, "a", 0, "b"), at({"a": 1}, "a", "b")
    (3, None)
    """
    for name in names:
        if isinstance(value, Mapping) and isinstance(name, str):
            value = value.get(name)
        elif isinstance(value, list) and isinstance(name, int) and name < len(value):
            value = value[name]
        else:
            return None
    return value


def _texts(*values: Any) -> Iterator[str]:
    yield from (value for value in values if isinstance(value, str) and value)


def _present(**fields: Any) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _in_form(value: Any) -> str:
    """The text of a field in a form."""
    return value if isinstance(value, str) else json.dumps(value)


def _money(amount: Any) -> Money | None:
    """An amount in US dollars; None where it is no positive number."""
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not amount > 0:
        return None
    return Money.read(f"{amount:.9f} USD")


def aspect_ratio(request: Request, ratios: Sequence[str]) -> str | None:
    """The ratio of a list that is nearest to the requested size; None where none was requested.

    A picture of another aspect than the requested one is an error later.
    """
    size = requested_size(request)
    if size is None:
        return None

    def stretch(ratio: str) -> float:
        width, height = map(int, ratio.split(":"))
        scaled = size[0] * height / (size[1] * width)
        return max(scaled, 1 / scaled)

    return min(ratios, key=stretch)


class _OpenAILike(Service):
    """Answers as those of OpenAI's images protocol."""

    def pictures(self, answer: Any) -> Iterator[Picture]:
        for entry in items(answer, "data"):
            prompt = at(entry, "revised_prompt")
            for text in _texts(at(entry, "b64_json"), at(entry, "url")):
                yield Picture(text, prompt if isinstance(prompt, str) else None)
                break


class Azure(_OpenAILike):
    """A deployment of Azure OpenAI."""

    name, keys, address_variable = "azure", ("AZURE_OPENAI_API_KEY",), "AZURE_OPENAI_ENDPOINT"
    document = "https://learn.microsoft.com/en-us/azure/ai-services/openai/how-to/dall-e"
    settings = ("width", "height")
    api_version = "2025-04-01-preview"

    def header(self, key: str) -> Mapping[str, str]:
        return {"api-key": key}

    def used(self, answer: Any) -> None:
        """No name to compare: a deployment has a name of its own."""

    routes = (
        r"/openai(?:/v1)?(?:/deployments(?:/(?P<model>[^/]+)(?:/images/\w+|/chat/completions)?)?)?"
        f"(?:{OPENAI_ROUTES})?"
    )

    @property
    def query(self) -> Mapping[str, str]:
        version = os.environ.get("AZURE_OPENAI_API_VERSION", "").strip() or self.api_version
        return {"api_version": version}

    def call(self, model: str, request: Request) -> Call:
        version = self.query["api_version"]
        size = requested_size(request)
        return Call(
            f"openai/deployments/{quote(model, safe='')}/images/generations?"
            + urlencode({"api-version": version}),
            _present(
                prompt=request.prompt, n=1, size=size and f"{size[0]}x{size[1]}", seed=request.seed
            ),
        )


class Together(_OpenAILike):
    """Together's images."""

    name, keys = "together", ("TOGETHER_API_KEY",)
    address = "https://api.together.xyz/v1"
    document = "https://docs.together.ai/reference/post-images-generations (as quoted by clients)"
    settings = ("steps", "guidance", "width", "height", "negative_prompt")

    def call(self, model: str, request: Request) -> Call:
        settings = request.settings
        return Call(
            "images/generations",
            _present(
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


class ChatImage(Service):
    """Pictures in the answers of a chat: OpenRouter, SGLang-Omni, Gemini's compatible one."""

    name, keys = "chat-image", ("CHAT_IMAGE_API_KEY",)
    address_variable, address = "CHAT_IMAGE_BASE_URL", "https://openrouter.ai/api/v1"
    document = "https://openrouter.ai/docs/features/multimodal/image-generation"
    keys_of_hosts: ClassVar = {
        "openrouter.ai": "OPENROUTER_API_KEY",
        "generativelanguage.googleapis.com": "GEMINI_API_KEY",
        "ai-gateway.vercel.sh": "AI_GATEWAY_API_KEY",
    }
    """Host -> variable of its key, which no other host gets."""

    def key_variable(self, address: str) -> str:
        return self.keys_of_hosts.get(netloc(address), self.keys[0])

    def call(self, model: str, request: Request) -> Call:
        return Call(
            "chat/completions",
            {
                "model": model,
                "messages": [{"role": "user", "content": request.prompt}],
                "modalities": ["image", "text"],
                "seed": request.seed,
                "stream": False,
            },
        )

    def pictures(self, answer: Any) -> Iterator[Picture]:
        for choice in items(answer, "choices"):
            message = at(choice, "message")
            content = at(message, "content")
            parts = [*items(message, "images"), *(content if isinstance(content, list) else [])]
            for part in parts:
                url = at(part, "image_url", "url") or at(part, "image_url") or at(part, "url")
                for text in _texts(url, at(part, "b64_json"), at(part, "image", "data")):
                    yield Picture(text)
                    break
            if isinstance(content, str):
                yield from map(Picture, re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", content))
                if re.match(r"data:image/[\w.+-]+;base64,\S+$", content.strip()):
                    yield Picture(content.strip())

    def refusal(self, answer: Any) -> str | None:
        message = at(answer, "choices", 0, "message")
        refusal = at(message, "refusal")
        if isinstance(refusal, str) and refusal:
            return refusal
        if at(answer, "choices", 0, "finish_reason") == "content_filter":
            return next(_texts(at(message, "content")), "content_filter")
        return None

    def price(self, answer: Any) -> Money | None:
        return _money(at(answer, "usage", "cost"))


class Gemini(Service):
    """Google's Gemini API: models that answer with pictures, and Imagen."""

    name, keys = "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    address = "https://generativelanguage.googleapis.com/v1beta"
    document = "https://ai.google.dev/api/generate-content"
    settings = ("width", "height")
    ratios = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
    ratios_of_imagen = ("1:1", "3:4", "4:3", "9:16", "16:9")

    routes = r"/models(?:/(?P<model>[^/:]+)(?::\w+)?)?"

    def header(self, key: str) -> Mapping[str, str]:
        return {"x-goog-api-key": key}

    def call(self, model: str, request: Request) -> Call:
        name = quote(model.removeprefix("models/"), safe="")
        if name.startswith("imagen"):
            ratio = aspect_ratio(request, self.ratios_of_imagen)
            parameters = _present(sampleCount=1, aspectRatio=ratio, includeRaiReason=True)
            return Call(
                f"models/{name}:predict",
                {"instances": [{"prompt": request.prompt}], "parameters": parameters},
            )
        ratio = aspect_ratio(request, self.ratios)
        return Call(
            f"models/{name}:generateContent",
            {
                "contents": [{"role": "user", "parts": [{"text": request.prompt}]}],
                "generationConfig": _present(
                    responseModalities=["TEXT", "IMAGE"],
                    seed=request.seed,
                    imageConfig=ratio and {"aspectRatio": ratio},
                ),
            },
        )

    def pictures(self, answer: Any) -> Iterator[Picture]:
        for candidate in items(answer, "candidates"):
            for part in items(candidate, "content", "parts"):
                inline = at(part, "inlineData") or at(part, "inline_data")
                if not at(part, "thought"):
                    yield from map(Picture, _texts(at(inline, "data")))
        for prediction in items(answer, "predictions"):
            prompt = at(prediction, "prompt")
            for text in _texts(at(prediction, "bytesBase64Encoded")):
                yield Picture(text, prompt if isinstance(prompt, str) else None)

    def versions(self, model: str, answer: Any) -> Mapping[str, str]:  # noqa: ARG002 - one is listed
        text = at(answer, "version")
        return {"version": text} if isinstance(text, str) else {}

    def version(self, model: str) -> Call | None:
        return Call(f"models/{quote(model.removeprefix('models/'), safe='')}", method="GET")

    def used(self, answer: Any) -> str | None:
        return next(_texts(at(answer, "modelVersion")), None)

    def filtered(self, model: str, answer: Any) -> str:
        # Imagen leaves out what it filters, and the answer has fewer pictures than requested.
        is_imagen = model.removeprefix("models/").startswith("imagen") and isinstance(answer, dict)
        return "the service has filtered the picture and gives no reason" if is_imagen else ""


class Fal(Service):
    """fal's synchronous endpoint."""

    name, keys = "fal", ("FAL_KEY",)
    address = "https://fal.run"
    document = "https://fal.ai/models/fal-ai/flux-2-klein/4b/api; https://docs.fal.ai/errors"
    settings = ("steps", "guidance", "width", "height", "negative_prompt")

    routes = r"/(?P<model>{model}|fal-ai/.+?)(?:/requests.*)?"

    def header(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Key {key}"}

    def call(self, model: str, request: Request) -> Call:
        settings, size = request.settings, requested_size(request)
        return Call(
            model,
            _present(
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

    def refusal(self, answer: Any) -> str | None:
        # A black picture stands in the place of the refused one.
        is_flagged = True in items(answer, "has_nsfw_concepts")
        return "the safety checker has replaced the picture" if is_flagged else None

    def pictures(self, answer: Any) -> Iterator[Picture]:
        for entry in [*items(answer, "images"), at(answer, "image")]:
            yield from map(Picture, _texts(at(entry, "url") or entry))


class Replicate(Service):
    """Replicate: official models by ``OWNER/NAME``, others by ``OWNER/NAME:VERSION``."""

    name, keys = "replicate", ("REPLICATE_API_TOKEN",)
    address = "https://api.replicate.com/v1"
    document = "https://replicate.com/docs/topics/predictions/create-a-prediction"
    has_forms = True
    settings = ("steps", "guidance", "width", "height", "negative_prompt")
    wait = 60
    """Seconds for which the service holds the answer open."""
    other_names: ClassVar = {
        **{names[0]: names for names in ALIASES},
        "seed": ("seed",),
        "output_format": ("output_format",),
        "negative_prompt": ("negative_prompt",),
        "width": ("width",),
        "height": ("height",),
    }
    """Field -> its names in the inputs of models."""

    schemas = ("latest_version", "openapi_schema", "components", "schemas")
    """Where the forms of inputs and outputs are in a description."""
    routes = r"/models/(?P<model>[^/]+/[^/]+)(?:/predictions|/versions.*)?|/models|/predictions"

    def call(self, model: str, request: Request) -> Call:
        settings = request.settings
        name, _, version = model.partition(":")
        body: dict[str, Any] = {
            "input": _present(
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
        }
        path = f"models/{name}/predictions"
        if version:
            path, body = "predictions", {"version": version, **body}
        return Call(path, body, headers={"Prefer": f"wait={self.wait}"})

    def check_fields(self, names: Iterable[str], description: Any) -> None:
        inputs = at(description, *self.schemas, "Input", "properties")
        if isinstance(inputs, Mapping) and (unknown := sorted({*names} - {*inputs})):
            raise ConfigurationError(
                f"the model has no input {unknown[0]}: leave it out, or give one of "
                f"{some(sorted(inputs))}"
            )

    def fitted(self, call: Call, description: Any) -> Call:
        schemas = at(description, *self.schemas)
        inputs = at(schemas, "Input", "properties")
        if not isinstance(inputs, Mapping) or call.body is None:
            return call
        # An input that a model does not have is ignored by the service.
        fields: dict[str, Any] = {"prompt": call.body["input"]["prompt"]}
        for name, value in call.body["input"].items():
            names = [alias for alias in self.other_names.get(name, ()) if alias in inputs]
            if names and (name != "output_format" or "png" in json.dumps(schemas)):
                fields[names[0]] = value
            elif name in {"num_inference_steps", "guidance_scale", "negative_prompt", "width"}:
                words = {"num_inference_steps": "steps", "guidance_scale": "guidance",
                         "width": "size"}.get(name, "negative prompt")  # fmt: skip
                raise ConfigurationError(f"the model has no input for {words}: leave it out")
        return call._replace(body={**call.body, "input": fields})

    def failure(self, answer: Any) -> str | None:
        if at(answer, "status") in {"failed", "canceled", "aborted"}:
            return next(_texts(at(answer, "error")), f"the job is {at(answer, 'status')}")
        return None

    def job(self, answer: Any) -> Call | None:
        if at(answer, "status") not in {"starting", "processing"}:
            return None
        address = next(_texts(at(answer, "urls", "get")), None)
        if address is None:
            address = next((f"predictions/{text}" for text in _texts(at(answer, "id"))), None)
        return Call(address, method="GET") if address else None

    def pictures(self, answer: Any) -> Iterator[Picture]:
        output = at(answer, "output")
        for entry in output if isinstance(output, list) else [output]:
            yield from map(Picture, _texts(entry, at(entry, "url")))

    def version(self, model: str) -> Call | None:
        return Call(f"models/{model.partition(':')[0]}", method="GET")

    def used(self, answer: Any) -> str | None:
        return ":".join(_texts(at(answer, "model"), at(answer, "version"))) or None

    def versions(self, model: str, answer: Any) -> Mapping[str, str]:
        text = model.partition(":")[2] or at(answer, "latest_version", "id")
        return {"version": text} if isinstance(text, str) else {}


class Stability(Service):
    """Stability AI: core, ultra, and the models of the sd3 family by their names."""

    name, keys = "stability", ("STABILITY_API_KEY",)
    address = "https://api.stability.ai/v2beta"
    document = "https://platform.stability.ai/docs/api-reference (as quoted by clients)"
    settings = ("guidance", "width", "height", "negative_prompt")
    ratios = ("1:1", "2:3", "3:2", "4:5", "5:4", "9:16", "16:9", "9:21", "21:9")

    routes = r"/stable-image(?:/generate(?:/(?:sd3|(?P<model>[\w.-]+)))?)?"

    def call(self, model: str, request: Request) -> Call:
        settings = request.settings
        is_sd3 = model.startswith("sd3")
        guidance = None if settings.guidance is None else f"{settings.guidance:g}"
        if guidance and not is_sd3:
            raise ConfigurationError(
                f"stability:{model} takes no guidance: leave --t2i-guidance out"
            )
        form = _present(
            prompt=request.prompt,
            # 0 stands for a random seed.
            seed=str(request.seed + 1),
            output_format="png",
            negative_prompt=settings.negative_prompt,
            aspect_ratio=aspect_ratio(request, self.ratios),
            model=model if is_sd3 else None,
            cfg_scale=guidance,
        )
        kind = "sd3" if is_sd3 else model
        return Call(
            f"stable-image/generate/{kind}", form=form, headers={"Accept": "application/json"}
        )

    def pictures(self, answer: Any) -> Iterator[Picture]:
        if isinstance(answer, bytes):
            yield Picture(answer)
        yield from map(Picture, _texts(at(answer, "image")))


class Bedrock(Service):
    """Amazon Bedrock: Nova Canvas, Titan and Stability's models."""

    name, keys = "bedrock", ("AWS_BEARER_TOKEN_BEDROCK",)
    document = (
        "https://docs.aws.amazon.com/bedrock/latest/userguide/"
        "bedrock-runtime_example_bedrock-runtime_InvokeModel_AmazonNovaImageGeneration_section.html"
    )
    settings = ("guidance", "width", "height", "negative_prompt")
    ratios = Stability.ratios
    most_seed = 858_993_459
    """Largest seed of Nova Canvas."""

    def __init__(self, credentials: Any = None, region: str = "") -> None:
        """Args: botocore's credentials, where there is no bearer key, and the region."""
        self._credentials, self._region = credentials, region

    routes = r"/model/(?P<model>[^/]+)(?:/(?:invoke|converse)[\w-]*)?"

    def signed(self, call: Call, address: str, key: str) -> Call:
        if key or self._credentials is None:
            return super().signed(call, address, key)
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        content = json.dumps(call.body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        request = AWSRequest(call.method, f"{address}/{call.path}", headers, content)
        SigV4Auth(self._credentials.get_frozen_credentials(), "bedrock", self._region).add_auth(
            request
        )
        return call._replace(body=None, content=content, headers=dict(request.headers.items()))

    def call(self, model: str, request: Request) -> Call:
        settings = request.settings
        path = f"model/{quote(model, safe='')}/invoke"
        if re.search(r"(^|[./])stability\.", model):
            if settings.guidance is not None:
                raise ConfigurationError(
                    f"bedrock:{model} takes no guidance: leave --t2i-guidance out"
                )
            return Call(
                path,
                _present(
                    prompt=request.prompt,
                    seed=request.seed + 1,
                    mode="text-to-image",
                    output_format="png",
                    negative_prompt=settings.negative_prompt,
                    aspect_ratio=aspect_ratio(request, self.ratios),
                ),
            )
        return Call(
            path,
            {
                "taskType": "TEXT_IMAGE",
                "textToImageParams": _present(
                    text=request.prompt, negativeText=settings.negative_prompt
                ),
                "imageGenerationConfig": _present(
                    numberOfImages=1,
                    seed=request.seed % (self.most_seed + 1),
                    cfgScale=settings.guidance,
                    width=settings.width,
                    height=settings.height,
                ),
            },
        )

    def pictures(self, answer: Any) -> Iterator[Picture]:
        yield from map(Picture, _texts(*items(answer, "images")))

    def refusal(self, answer: Any) -> str | None:
        for reason in items(answer, "finish_reasons"):
            if isinstance(reason, str) and reason.startswith("Filter reason"):
                return reason
        return None


class Automatic1111(Service):
    """AUTOMATIC1111's web UI, and SD.Next, which speaks the same protocol."""

    name, address, needs_model = "a1111", "http://127.0.0.1:7860", False
    has_dates = False
    keys = ("A1111_API_AUTH",)
    document = "https://github.com/AUTOMATIC1111/stable-diffusion-webui/wiki/API"
    settings = ("steps", "guidance", "width", "height", "negative_prompt")

    routes = r"/sdapi(?:/v1(?:/[\w-]+)?)?|/docs"

    def header(self, key: str) -> Mapping[str, str]:
        import base64

        return {"Authorization": "Basic " + base64.b64encode(key.encode()).decode()}

    def call(self, model: str, request: Request) -> Call:
        settings = request.settings
        return Call(
            "sdapi/v1/txt2img",
            _present(
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

    def pictures(self, answer: Any) -> Iterator[Picture]:
        prompt = next(_texts(at(self._info(answer), "prompt")), None)
        for text in _texts(*items(answer, "images")):
            yield Picture(text, prompt)

    def version(self, model: str) -> Call | None:
        # The options name the loaded checkpoint, which is another one where one is asked for.
        return Call("sdapi/v1/sd-models" if model else "sdapi/v1/options", method="GET")

    def versions(self, model: str, answer: Any) -> Mapping[str, str]:
        names = {name: name for name in ("sd_model_checkpoint", "sd_checkpoint_hash")}
        if model:
            names = {"sd_model_checkpoint": "title", "sd_checkpoint_hash": "sha256"}
            entries = answer if isinstance(answer, list) else []
            titles = ((entry, next(_texts(at(entry, "title")), "")) for entry in entries)
            answer = next((e for e, t in titles if not other_model(model, t, has_dates=False)), {})
        return {name: text for name, key in names.items() for text in _texts(at(answer, key))}

    def used(self, answer: Any) -> str | None:
        info = self._info(answer)
        name, code = (next(_texts(at(info, f"sd_model_{key}")), "") for key in ("name", "hash"))
        return f"{name} [{code}]" if name else None

    @staticmethod
    def _info(answer: Any) -> Any:
        try:
            return json.loads(next(_texts(at(answer, "info")), "{}"))
        except (ValueError, RecursionError):
            return {}


FIELDS = ("prompt", "negative_prompt", "seed", "steps", "guidance", "width", "height")
"""Names of the marked fields of a workflow."""
MARK = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
"""A mark in a workflow: ``{seed}``, or ``{steps:20}`` with what stands there by default."""


UNSAVED = (
    "expected a workflow that saves its picture, got one that only shows it (PreviewImage): put "
    'a node SaveImage in its place, and use "Save (API format)" again'
)


@dataclass(frozen=True)
class Comfy(Service):
    """ComfyUI: a workflow in the API format, whose fields are marked."""

    workflow: Mapping[str, Any] = field(default_factory=dict)
    marks: frozenset[str] = frozenset()
    settings: tuple[str, ...] = ()
    takes_extra = False
    name, address, keys = "comfy", "http://127.0.0.1:8188", ("COMFY_API_KEY",)
    document = "https://docs.comfy.org (routes /prompt, /history, /view), as quoted by clients"

    @classmethod
    def read(cls, file: Path) -> Comfy:
        """Read a workflow that ComfyUI's "Save (API format)" wrote, with marks.

        Raises:
            ConfigurationError: there is no such file, it is no workflow in the API format, or the
                prompt or the seed is not marked.
        """
        workflow = parse_json(file, read_text(file, kind="workflow"))
        nodes = workflow.get("prompt", workflow) if isinstance(workflow, dict) else None
        if not isinstance(nodes, dict) or not all(
            isinstance(node, dict) and "class_type" in node for node in nodes.values()
        ):
            raise ConfigurationError(
                f"comfy:{file}: expected a workflow in ComfyUI's API format (an object of nodes "
                'with "class_type" and "inputs"), got something else: use "Save (API format)"'
            )
        marks = frozenset(
            match[1] for match in MARK.finditer(json.dumps(nodes, ensure_ascii=False))
        )
        missing = [name for name in ("prompt", "seed") if name not in marks]
        if missing:
            raise ConfigurationError(
                f"comfy:{file}: expected the marks {{prompt}} and {{seed}} in fields of the "
                f"workflow, got none of {' and '.join(missing)}: write "
                '"text": "{prompt}" and "seed": "{seed}" in place of the values'
            )
        kinds = {str(node["class_type"]) for node in nodes.values()}
        if "PreviewImage" in kinds and not any("save" in kind.lower() for kind in kinds):
            raise ConfigurationError(f"comfy:{file}: {UNSAVED}")
        settings = tuple(
            name for name in FIELDS if name in marks and name not in {"prompt", "seed"}
        )
        return cls(nodes, marks, settings)

    routes = r"/(?:prompt|queue|history|view|ws|object_info|system_stats)(?:/[\w-]+)?"

    def header(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def call(self, model: str, request: Request) -> Call:  # noqa: ARG002 - the workflow has it
        values = {
            "prompt": request.prompt,
            "seed": request.seed,
            **{name: getattr(request.settings, name) for name in FIELDS if name not in
               {"prompt", "seed"}},
        }  # fmt: skip
        nodes = self._filled(self.workflow, values)
        for node in nodes.values():
            inputs = node.get("inputs")
            if isinstance(inputs, dict) and isinstance(inputs.get("filename_prefix"), str):
                # ComfyUI does not run a workflow again that it has run: a name of its own makes it
                # save the picture again.
                inputs["filename_prefix"] += f"-{uuid4().hex[:12]}"
        return Call("prompt", {"prompt": nodes})

    def _filled(self, value: Any, values: Mapping[str, Any]) -> Any:
        if isinstance(value, Mapping):
            return {name: self._filled(inner, values) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._filled(inner, values) for inner in value]
        if not isinstance(value, str):
            return value
        mark = MARK.fullmatch(value.strip())
        if mark and mark[1] in values:
            return self._value(mark, values)
        return MARK.sub(
            lambda match: str(self._value(match, values)) if match[1] in values else match[0], value
        )

    @staticmethod
    def _value(mark: re.Match[str], values: Mapping[str, Any]) -> Any:
        value = values[mark[1]]
        if value is not None:
            return value
        default = mark[2]
        if default is None:
            if mark[1] == "negative_prompt":
                return ""
            option = {"width": "--t2i-size", "height": "--t2i-size"}.get(mark[1])
            raise ConfigurationError(
                f"the workflow marks {{{mark[1]}}} without a default: give "
                f"{option or '--t2i-' + mark[1]}, or write a default as in {{{mark[1]}:20}}"
            )
        try:
            return json.loads(default)
        except ValueError:
            return default

    def job(self, answer: Any) -> Call | None:
        job = next(_texts(at(answer, "prompt_id")), None)
        return None if job is None else Call(f"history/{quote(job, safe='')}", method="GET")

    def looked(self, job: Call, answer: Any) -> tuple[Call | None, Any]:
        # The history is empty until the job has ended.
        entry = at(answer, unquote(job.path.rpartition("/")[2]))
        return (job, None) if entry is None else (None, entry)

    def failure(self, answer: Any) -> str | None:
        if at(answer, "status", "status_str") != "error":
            return None
        words = [at(message, 1, "exception_message") for message in items(answer, "status",
                                                                          "messages")]  # fmt: skip
        return next(_texts(*words), "the workflow has failed")

    def pictures(self, answer: Any) -> Iterator[Picture]:
        outputs = at(answer, "outputs")
        images = [
            image
            for output in (outputs.values() if isinstance(outputs, Mapping) else ())
            for image in items(output, "images")
            if isinstance(at(image, "filename"), str)
        ]
        saved = [image for image in images if at(image, "type") != "temp"]
        if images and not saved:
            raise ConfigurationError(UNSAVED)
        for image in saved:
            place = {name: str(at(image, name) or "") for name in ("filename", "subfolder", "type")}
            yield Picture(Call(f"view?{urlencode(place)}", method="GET"))


class ServiceModel(EndpointModel):
    """A TextToImage of one service."""

    def __init__(self, service: Service, model: str, address: str, limits: AnswerLimits) -> None:
        """Args: the service, the model's name there, the base URL, and limits."""
        self.service, self.kind = service.name, service
        self.key_variable = service.key_variable(address) if service.needs_key else ""
        super().__init__(model, address, limits)
        self._client = HttpClient(address, limits)
        self._description: Any = None
        self._is_described = False
        self._not_taken: set[str] = set()
        self._lock = Lock()
        self._prices: set[str] = set()
        if service.has_forms:
            self.settings_words = "checked by the service's description of the model"

    def attempts(self, request: Request) -> _Attempts:
        """The attempts to get one picture."""
        return _Attempts(self, request)

    def ask(self, request: Request, seconds: float) -> Generated:
        """Request one picture."""
        return _Attempts(self, request)(seconds)

    def check(self, settings: GenerationSettings) -> None:
        """Raise ConfigurationError for a setting that the service does not take."""
        names = {"steps": "steps", "guidance": "guidance", "width": "size", "height": "size"}
        for name, option in {**names, "negative_prompt": "negative-prompt"}.items():
            if getattr(settings, name) is not None and name not in self.kind.settings:
                raise ConfigurationError(
                    f"{self.service}: takes no {option.replace('-', ' ')}: leave --t2i-{option} out"
                )

    def answer(self, call: Call, seconds: float) -> Any:
        return self._client.answer(self.kind.signed(call, self.address, self.key), seconds)

    def _described(self, seconds: float) -> Any:
        """The service's description of the model, which is asked for once."""
        call = self.kind.version(self.model) if self.kind.has_forms else None
        with self._lock:
            if call is not None and not self._is_described:
                self._description, self._is_described = self.answer(call, seconds), True
        return self._description

    def fields(self, request: Request) -> Mapping[str, Any] | None:
        """The fields of the request for one picture; None where a workflow has them all."""
        if not self.kind.takes_extra:
            return None
        return self._held(self.kind.call(self.model, request))[1]

    @staticmethod
    def _held(call: Call) -> tuple[str | None, Mapping[str, Any]]:
        """The field of the body that holds the fields of a picture, if any, and these fields."""
        body: Mapping[str, Any] = (call.form if call.body is None else call.body) or {}
        holder = next((name for name in HOLDERS if name in body), None)
        return holder, body if holder is None else body[holder]

    def _with_extra(self, call: Call, description: Any) -> Call:
        """The call with the further fields that a user gave."""
        if not self.extra:
            return call
        self.kind.check_fields(self.extra, description)
        holder, own = self._held(call)
        fields = merged(own, self.extra)
        if call.body is None:
            return call._replace(form={name: _in_form(value) for name, value in fields.items()})
        return call._replace(body=fields if holder is None else {**call.body, holder: fields})

    def send(self, request: Request, seconds: float) -> Any:
        description = self._described(seconds)
        call = self.kind.fitted(self.kind.call(self.model, request), description)
        call = self._with_extra(call, description)
        body = {k: v for k, v in (call.body or {}).items() if k not in self._not_taken}
        call = call if call.body is None else call._replace(body=body)
        try:
            return self.answer(call, seconds)
        except FinalFaultError as error:
            name = _unknown_field(str(error), {*body} - {*self.extra})
            if name is None:
                raise
            with self._lock:
                is_new = name not in self._not_taken
                self._not_taken.add(name)
        if is_new and name == "seed":
            self.say("the server does not accept a seed: every picture is drawn anew")
        return self.send(request, seconds)

    def _compare_model(self, answer: Any) -> None:
        """Raise GenerationError for a picture of another model than was asked for."""
        used = self.kind.used(answer)
        asked = self.model or self.versions.get("sd_model_checkpoint", "")
        if problem := other_model(asked, used, has_dates=self.kind.has_dates):
            raise GenerationError(problem)

    def picture_in(self, answer: Any, until: float) -> Generated:
        self._compare_model(answer)
        refusal = self.kind.refusal(answer)
        if refusal or (isinstance(answer, Mapping) and is_replaced(answer)):
            words = refusal or read_answer(json.dumps(answer)[: 2**16]).refusal
            raise RefusedError(words or "the service has replaced the picture that it refuses")
        if failure := self.kind.failure(answer):
            refusal = read_answer(failure).refusal
            raise (
                RefusedError(refusal)
                if refusal
                else BrokenPictureError(f"the service has failed: {failure}")
            )
        self._compare_price(self.kind.price(answer))
        seconds = max(until - time.monotonic(), 0.001)
        for picture in self.kind.pictures(answer):
            content = picture.text
            if isinstance(content, Call):
                content = self.answer(content, seconds)
            elif isinstance(content, str):
                content = self._client.picture(content, seconds)
            if not isinstance(content, bytes):
                raise BrokenPictureError("expected a picture in the answer, got something else")
            return Generated(self.picture(content), revised_prompt=picture.revised_prompt)
        text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        fault = fault_in(text)
        if not fault and (words := self.kind.filtered(self.model, answer)):
            raise RefusedError(words)
        raise fault or BrokenPictureError("expected a picture in the answer, got none")

    def _compare_price(self, charged: Money | None) -> None:
        """Report, once an amount, that the service charged another price than the run counts."""
        if (
            charged is None
            or self.spending is None
            or charged.currency != self.spending.price.currency
        ):
            return
        with self._lock:
            is_new = str(charged) not in self._prices and len(self._prices) < 3  # noqa: PLR2004
            self._prices.add(str(charged))
        if is_new and charged != self.spending.price:
            self.say(
                f"the service charged {charged} for a picture; the run counts {self.spending.price}"
            )

    def ask_versions(self, seconds: float) -> Mapping[str, str]:
        """The version of the model, where the service says it."""
        call = self.kind.version(self.model)
        if call is None:
            return {}
        answer = self.answer(call, seconds)
        return self.kind.versions(self.model, answer)


class _Attempts:
    """The attempts to get one picture; what was begun or answered is gone on with."""

    def __init__(self, model: ServiceModel, request: Request) -> None:
        self._model, self._request = model, request
        self._job: Call | None = None
        self._answer: Any = None

    def __call__(self, seconds: float) -> Generated:
        until = time.monotonic() + seconds
        if self._answer is None:
            self._answer = self._ended(until)
        try:
            return self._model.picture_in(self._answer, until)
        except BrokenPictureError:
            self._answer = None  # waiting does not mend it
            raise

    def _ended(self, until: float) -> Any:
        """The final answer of the service."""
        model, kind = self._model, self._model.kind
        answer: Any = None
        if self._job is None:
            model.check(self._request.settings)
            answer = model.send(self._request, max(until - time.monotonic(), 0.001))
            self._job = kind.job(answer)
        pause = FIRST_LOOK
        while self._job is not None:
            if until - time.monotonic() <= pause:
                raise PassingFaultError(
                    "the service has not finished the picture yet", is_busy=True, kind="unfinished"
                )
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_LOOK)
            try:
                answer = model.answer(self._job, max(until - time.monotonic(), 0.001))
            except PassingFaultError:
                continue
            self._job, answer = kind.looked(self._job, answer)
        return answer


def _unknown_field(words: str, body: Collection[str]) -> str | None:
    """An optional field that the server does not support; None where the error is another one."""
    if not words.startswith((f"HTTP {BAD_REQUEST}", f"HTTP {UNPROCESSABLE}")):
        return None
    if not UNKNOWN.search(words):
        return None
    names = (name for name in OPTIONAL if name in body)
    return next((name for name in names if re.search(rf"\b{name}\b", words)), None)


def _split(service: Service, source: str) -> tuple[str, str]:
    """Model and base URL of ``MODEL[@BASE_URL]``. Names of models may contain an @."""
    model, address = source, os.environ.get(service.address_variable, "").strip()
    if match := re.fullmatch(r"(.*?)@(https?://.*)", source, re.IGNORECASE):
        where = f"--t2i-model {service.name}:MODEL@BASE_URL"
        model = match[1]
        address = without_route(where, match[2], service.routes, model, **service.query)
        if set("@?#") & set(address):
            raise ConfigurationError(
                f"{where}: expected an address without user, "
                "query and fragment, which reports would show"
            )
    elif address:
        where, routes = service.address_variable, service.routes
        address = without_route(where, address, routes, model, **service.query)
    address = address or service.address
    if not address:
        variable = f", or set {service.address_variable}" if service.address_variable else ""
        raise ConfigurationError(
            f"{service.name}: expected a base URL, got none: use --t2i-model "
            f"{service.name}:MODEL@BASE_URL{variable}"
        )
    if not is_address(address):
        raise ConfigurationError(
            f"{service.name}: expected a base URL such as https://HOST, got {address!r}"
        )
    if service.needs_model and not model:
        raise ConfigurationError(
            f"{service.name}: expected the name of a model, got none: use --t2i-model "
            f"{service.name}:MODEL[@BASE_URL]"
        )
    return model, address


def _load(service: Service, options: LoadOptions) -> ServiceModel:
    return ServiceModel(service, *_split(service, options.source), options.answers)


def azure(options: LoadOptions) -> ServiceModel:
    """Load ``azure:DEPLOYMENT[@https://RESOURCE.openai.azure.com]``."""
    return _load(Azure(), options)


def together(options: LoadOptions) -> ServiceModel:
    """Load ``together:MODEL``."""
    return _load(Together(), options)


def chat_image(options: LoadOptions) -> ServiceModel:
    """Load ``chat-image:MODEL[@BASE_URL]``."""
    return _load(ChatImage(), options)


def gemini(options: LoadOptions) -> ServiceModel:
    """Load ``gemini:MODEL``."""
    return _load(Gemini(), options)


def fal(options: LoadOptions) -> ServiceModel:
    """Load ``fal:MODEL``."""
    return _load(Fal(), options)


def replicate(options: LoadOptions) -> ServiceModel:
    """Load ``replicate:OWNER/NAME[:VERSION]``."""
    return _load(Replicate(), options)


def stability(options: LoadOptions) -> ServiceModel:
    """Load ``stability:MODEL``."""
    return _load(Stability(), options)


def a1111(options: LoadOptions) -> ServiceModel:
    """Load ``a1111:[CHECKPOINT][@BASE_URL]``."""
    return _load(Automatic1111(), options)


def comfy(options: LoadOptions) -> ServiceModel:
    """Load ``comfy:WORKFLOW.json[@BASE_URL]``."""
    name, address = _split(Comfy(), options.source)
    file = Path(name).expanduser()
    service = Comfy.read(file)
    model = f"{file.name} {digest([service.workflow])[:12]}"
    return ServiceModel(service, model, address, options.answers)


def bedrock(options: LoadOptions) -> ServiceModel:
    """Load ``bedrock:MODEL_ID[@REGION]``, with a bearer key or with AWS credentials."""
    model, _, place = options.source.partition("@")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    if not model:
        raise ConfigurationError(
            "bedrock: expected the id of a model, got none: use --t2i-model "
            "bedrock:MODEL_ID[@REGION]"
        )
    where, routes = "--t2i-model bedrock:MODEL_ID@BASE_URL", Bedrock.routes
    credentials, address = None, without_route(where, place, routes, model)
    if not is_address(place):
        region = place or region
        if not re.fullmatch(r"[a-z0-9-]+", region):
            raise ConfigurationError(
                f"bedrock: expected an AWS region, got {region!r}: use --t2i-model "
                "bedrock:MODEL_ID@REGION, or set AWS_REGION"
            )
        address = f"https://bedrock-runtime.{region}.amazonaws.com"
    if not os.environ.get(Bedrock.keys[0], "").strip():
        with needs("the model bedrock with AWS credentials", "bedrock"):
            from botocore.session import get_session
        credentials = get_session().get_credentials()
        if credentials is None:
            raise ConfigurationError(
                f"bedrock:{model} needs a key: set {Bedrock.keys[0]}, or AWS credentials "
                "(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile)"
            )
    service = Bedrock(credentials, region or "us-east-1")
    service.needs_key = credentials is None
    return ServiceModel(service, model, address, options.answers)
