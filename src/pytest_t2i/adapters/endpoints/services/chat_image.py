"""``chat-image:MODEL[@BASE_URL]``: pictures in the answers of a chat, as those of OpenRouter.

Written by https://openrouter.ai/docs/features/multimodal/image-generation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.services.model import ServiceModel, load_service
from pytest_t2i.adapters.endpoints.services.service import AnswerReading, Picture, Service, data_url
from pytest_t2i.adapters.endpoints.shapes import at, items, text
from pytest_t2i.data import Money, Request
from pytest_t2i.protocols import LoadOptions


def request(model: str, request: Request) -> Call:
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


def read(_: str, answer: Any) -> AnswerReading:
    choice = at(answer, "choices", 0)
    content, refusal = at(choice, "message", "content"), text(at(choice, "message", "refusal"))
    if not refusal and at(choice, "finish_reason") == "content_filter":
        refusal = text(content, "content_filter")
    cost = at(answer, "usage", "cost")
    is_cost = isinstance(cost, int | float) and not isinstance(cost, bool) and cost > 0
    return AnswerReading(
        [Picture(picture) for picture in _pictures(at(choice, "message"), content)],
        refusal=refusal,
        used=text(at(answer, "model")),
        price=Money.read(f"{cost:.9f} USD") if is_cost else None,
    )


def _pictures(message: Any, content: Any) -> Iterator[str]:
    for part in [*items(message, "images"), *(content if isinstance(content, list) else [])]:
        url = at(part, "image_url", "url") or at(part, "image_url") or at(part, "url")
        if address := text(url) or data_url(at(part, "b64_json"), at(part, "image", "data")):
            yield address
    if isinstance(content, str):
        yield from re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", content)
        if re.match(r"data:image/[\w.+-]+;base64,\S+$", content.strip()):
            yield content.strip()


SERVICE = Service(
    "chat-image",
    request,
    read,
    keys=("CHAT_IMAGE_API_KEY",),
    keys_of_hosts={
        "openrouter.ai": "OPENROUTER_API_KEY",
        "generativelanguage.googleapis.com": "GEMINI_API_KEY",
        "ai-gateway.vercel.sh": "AI_GATEWAY_API_KEY",
    },
    address="https://openrouter.ai/api/v1",
    address_variable="CHAT_IMAGE_BASE_URL",
    settings=(),
)


def load(options: LoadOptions) -> ServiceModel:
    return load_service(SERVICE, options)
