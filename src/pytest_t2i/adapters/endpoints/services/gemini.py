"""``gemini:MODEL``: Google's Gemini API, models that answer with pictures, and Imagen.

Written by https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.services.model import ServiceModel, load_service
from pytest_t2i.adapters.endpoints.services.service import (
    AnswerReading,
    Picture,
    Service,
    aspect_ratio,
    data_url,
)
from pytest_t2i.adapters.endpoints.shapes import at, items, present, text
from pytest_t2i.data import Request
from pytest_t2i.protocols import LoadOptions

RATIOS, RATIOS_OF_IMAGEN = "1:1 2:3 3:2 3:4 4:3 4:5 5:4 9:16 16:9 21:9", "1:1 3:4 4:3 9:16 16:9"


def request(model: str, request: Request) -> Call:
    """The call for one picture; a name that begins with ``imagen`` is asked by ``:predict``."""
    if _is_imagen(model):
        ratio = aspect_ratio(request, RATIOS_OF_IMAGEN)
        parameters = present(sampleCount=1, aspectRatio=ratio, includeRaiReason=True)
        body = {"instances": [{"prompt": request.prompt}], "parameters": parameters}
        return Call(f"{_path(model)}:predict", body)
    ratio = aspect_ratio(request, RATIOS)
    return Call(
        f"{_path(model)}:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": request.prompt}]}],
            "generationConfig": present(
                responseModalities=["TEXT", "IMAGE"],
                seed=request.seed,
                imageConfig=ratio and {"aspectRatio": ratio},
            ),
        },
    )


def read(model: str, answer: Any) -> AnswerReading:
    # Imagen leaves out what it filters, and the answer has fewer pictures than requested.
    is_short = _is_imagen(model) and isinstance(answer, dict)
    return AnswerReading(
        list(_pictures(answer)),
        filtered="the service has filtered the picture and gives no reason" if is_short else "",
        used=text(at(answer, "modelVersion")),
    )


def _pictures(answer: Any) -> Iterator[Picture]:
    for candidate in items(answer, "candidates"):
        for part in items(candidate, "content", "parts"):
            inline = at(part, "inlineData") or at(part, "inline_data")
            if not at(part, "thought") and (content := data_url(at(inline, "data"))):
                yield Picture(content)
    for prediction in items(answer, "predictions"):
        if content := data_url(at(prediction, "bytesBase64Encoded")):
            yield Picture(content, text(at(prediction, "prompt")) or None)


def _is_imagen(model: str) -> bool:
    return model.removeprefix("models/").startswith("imagen")


def _path(model: str) -> str:
    return f"models/{quote(model.removeprefix('models/'), safe='')}"


SERVICE = Service(
    "gemini",
    request,
    read,
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    address="https://generativelanguage.googleapis.com/v1beta",
    settings=("width", "height"),
    routes=r"/models(?:/(?P<model>[^/:]+)(?::\w+)?)?",
    header=lambda key: {"x-goog-api-key": key},
    version=lambda model: Call(_path(model), method="GET"),
    versions=lambda _, told, __: present(version=text(at(told, "version")) or None),
)


def load(options: LoadOptions) -> ServiceModel:
    return load_service(SERVICE, options)
