"""``bedrock:MODEL_ID[@REGION]``: Amazon Bedrock's Nova Canvas, Titan and Stability's models.

Written by https://docs.aws.amazon.com/bedrock/latest/userguide/
bedrock-runtime_example_bedrock-runtime_InvokeModel_AmazonNovaImageGeneration_section.html.
"""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import Any
from urllib.parse import quote

from pytest_t2i.adapters.endpoints.addresses import is_address, without_route
from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.services.model import ServiceModel
from pytest_t2i.adapters.endpoints.services.service import (
    AnswerReading,
    Picture,
    Service,
    aspect_ratio,
    data_url,
)
from pytest_t2i.adapters.endpoints.services.stability import RATIOS
from pytest_t2i.adapters.endpoints.shapes import items, present, texts
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Request
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import LoadOptions

KEY = "AWS_BEARER_TOKEN_BEDROCK"
MOST_SEED = 858_993_459
"""Largest seed of Nova Canvas."""


def request(model: str, request: Request) -> Call:
    """The call for one picture, in the shape of Stability's models or of Amazon's."""
    settings, path = request.settings, f"model/{quote(model, safe='')}/invoke"
    if re.search(r"(^|[./])stability\.", model):
        if settings.guidance is not None:
            raise ConfigurationError(f"bedrock:{model} takes no guidance: leave --t2i-guidance out")
        return Call(
            path,
            present(
                prompt=request.prompt,
                seed=request.seed + 1,
                mode="text-to-image",
                output_format="png",
                negative_prompt=settings.negative_prompt,
                aspect_ratio=aspect_ratio(request, RATIOS),
            ),
        )
    config = present(
        numberOfImages=1,
        seed=request.seed % (MOST_SEED + 1),
        cfgScale=settings.guidance,
        width=settings.width,
        height=settings.height,
    )
    words = present(text=request.prompt, negativeText=settings.negative_prompt)
    return Call(
        path,
        {"taskType": "TEXT_IMAGE", "textToImageParams": words, "imageGenerationConfig": config},
    )


def read(_: str, answer: Any) -> AnswerReading:
    reasons = (word for word in texts(*items(answer, "finish_reasons")) if "Filter reason" in word)
    pictures = [Picture(data_url(content)) for content in texts(*items(answer, "images"))]
    return AnswerReading(pictures, refusal=next(reasons, ""))


def sign(credentials: Any, region: str, call: Call, address: str) -> Call:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    content = json.dumps(call.body).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    signed = AWSRequest(call.method, f"{address}/{call.path}", headers, content)
    SigV4Auth(credentials.get_frozen_credentials(), "bedrock", region).add_auth(signed)
    return call._replace(body=None, content=content, headers=dict(signed.headers.items()))


SERVICE = Service(
    "bedrock",
    request,
    read,
    keys=(KEY,),
    settings=("guidance", "width", "height", "negative_prompt"),
    routes=r"/model/(?P<model>[^/]+)(?:/(?:invoke|converse)[\w-]*)?",
)


def load(options: LoadOptions) -> ServiceModel:
    """Load ``bedrock:MODEL_ID[@REGION]``, with a bearer key or with AWS credentials."""
    model, _, place = options.source.partition("@")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    where = "--t2i-model bedrock:MODEL_ID"
    if not model:
        raise ConfigurationError(
            f"bedrock: expected the id of a model, got none: use {where}[@REGION]"
        )
    address = without_route(f"{where}@BASE_URL", place, SERVICE.routes, model)
    if not is_address(place):
        region = place or region
        if not re.fullmatch(r"[a-z0-9-]+", region):
            raise ConfigurationError(
                f"bedrock: expected an AWS region, got {region!r}: use {where}@REGION, or set "
                "AWS_REGION"
            )
        address = f"https://bedrock-runtime.{region}.amazonaws.com"
    if os.environ.get(KEY, "").strip():
        return ServiceModel(SERVICE, model, address, options.answers)
    with needs("the model bedrock with AWS credentials", "bedrock"):
        from botocore.session import get_session
    credentials = get_session().get_credentials()
    if credentials is None:
        raise ConfigurationError(
            f"bedrock:{model} needs a key: set {KEY}, or AWS credentials (AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or a profile)"
        )
    signing = SERVICE._replace(sign=partial(sign, credentials, region or "us-east-1"))
    return ServiceModel(signing, model, address, options.answers)
