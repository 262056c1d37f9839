"""Whole addresses of requests as base URLs: the route is taken off, or the right one is told."""

from __future__ import annotations

from importlib import import_module

import pytest

from pytest_t2i.adapters.detectors import vlm
from pytest_t2i.adapters.endpoints.services import hugging_face, openai_images
from pytest_t2i.adapters.languages.endpoint import ChatEndpoint
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

HERE = "http://127.0.0.1:8951"
AZURE = f"{HERE}/openai/deployments/my-image/images/generations"
NOW = "api-version=2025-04-01-preview"
WORKFLOW = """{"1": {"class_type": "T", "inputs": {"text": "{prompt}", "seed": "{seed}"}}}"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    for name in ("OPENAI_BASE_URL", "VLM_BASE_URL", "AZURE_OPENAI_API_VERSION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "k")
    monkeypatch.setenv("HF_TOKEN", "k")
    monkeypatch.setenv("OPENAI_API_KEY", "k-0")
    (tmp_path / "flow.json").write_text(WORKFLOW)
    monkeypatch.chdir(tmp_path)


def address_of(service: str, source: str) -> str:
    options = LoadOptions(source=source)
    if service in {"openai", "azure"}:
        load = openai_images.load if service == "openai" else openai_images.load_azure
    else:
        load = import_module(f"pytest_t2i.adapters.endpoints.services.{service}").load
    return load(options).address


@pytest.mark.parametrize(
    ("service", "source", "base"),
    [
        ("openai", f"m@{HERE}/v1/images/generations", f"{HERE}/v1"),
        ("openai", f"m@{HERE}/v1/images/generations/", f"{HERE}/v1"),
        ("openai", f"m@{HERE}/v1/chat/completions", f"{HERE}/v1"),
        ("openai", f"m@{HERE}/openai/v1/images/generations", f"{HERE}/openai/v1"),
        ("openai", f"m@{HERE}/v1/models", f"{HERE}/v1"),
        ("openai", f"m@{HERE}/v1", f"{HERE}/v1"),
        ("azure", f"my-image@{HERE}/", HERE),
        ("azure", f"my-image@{HERE}/openai", HERE),
        ("azure", f"my-image@{HERE}/openai/v1/", HERE),
        ("azure", f"my-image@{HERE}/openai/v1/images/generations", HERE),
        ("azure", f"my-image@{HERE}/openai/deployments", HERE),
        ("azure", f"my-image@{HERE}/openai/deployments/my-image", HERE),
        ("azure", f"my-image@{AZURE}?{NOW}", HERE),
        ("azure", f"my-image@{HERE}/gateway/openai/v1", f"{HERE}/gateway"),
        ("together", f"m@{HERE}/v1/images/generations", f"{HERE}/v1"),
        ("chat_image", f"m@{HERE}/api/v1/chat/completions", f"{HERE}/api/v1"),
        (
            "gemini",
            f"g-2-image@{HERE}/v1beta/models/g-2-image:generateContent",
            f"{HERE}/v1beta",
        ),
        ("gemini", f"g-2.5-image@{HERE}/v1beta/models", f"{HERE}/v1beta"),
        ("fal", f"fal-ai/flux/dev@{HERE}/fal-ai/flux/dev", HERE),
        ("fal", f"own/model@{HERE}/own/model", HERE),
        ("replicate", f"a/b@{HERE}/v1/models/a/b/predictions", f"{HERE}/v1"),
        ("replicate", f"a/b:0123@{HERE}/v1/predictions", f"{HERE}/v1"),
        ("replicate", f"a/b:0123@{HERE}/v1/models/a/b", f"{HERE}/v1"),
        ("stability", f"core@{HERE}/v2beta/stable-image/generate/core", f"{HERE}/v2beta"),
        ("stability", f"sd3.5-large@{HERE}/v2beta/stable-image/generate/sd3", f"{HERE}/v2beta"),
        ("a1111", f"@{HERE}/sdapi/v1/txt2img", HERE),
        ("a1111", f"@{HERE}/sdapi/v1", HERE),
        ("a1111", f"@{HERE}/docs", HERE),
        ("comfy", f"flow.json@{HERE}/prompt", HERE),
        ("comfy", f"flow.json@{HERE}/api/prompt", f"{HERE}/api"),
        ("bedrock", f"amazon.nova-canvas-v1:0@{HERE}/model/amazon.nova-canvas-v1%3A0/invoke", HERE),
    ],
)
def test_a_route_is_taken_off(service, source, base):
    assert address_of(service, source) == base


@pytest.mark.parametrize(
    ("variable", "service", "source", "text", "base"),
    [
        ("OPENAI_BASE_URL", "openai", "m", f"{HERE}/v1/images/generations", f"{HERE}/v1"),
        ("AZURE_OPENAI_ENDPOINT", "azure", "my-image", f"{AZURE}?{NOW}", HERE),
        ("AZURE_OPENAI_ENDPOINT", "azure", "my-image", f"{HERE}/openai/v1/", HERE),
        ("CHAT_IMAGE_BASE_URL", "chat_image", "m", f"{HERE}/v1/chat/completions", f"{HERE}/v1"),
    ],
)
def test_so_it_is_in_a_variable(monkeypatch, variable, service, source, text, base):
    monkeypatch.setenv(variable, text)
    assert address_of(service, source) == base


@pytest.mark.parametrize(
    ("service", "source", "words"),
    [
        ("azure", f"other@{AZURE}?{NOW}", f"requests to 'my-image'.* 'other': write {HERE}$"),
        ("azure", f"my-image@{AZURE}?api-version=2024", f"another api-version .*: write {HERE}$"),
        ("azure", f"my-image@{AZURE}?{NOW}&key=k-0", f"a request with key, .*: write {HERE}$"),
        ("openai", f"m@{HERE}/v1/images/generations?key=k-0", f"with key, .*: write {HERE}/v1$"),
        ("openai", f"m@{AZURE}?{NOW}", f"a deployment.*: write {HERE}/openai/v1$"),
        ("gemini", f"one@{HERE}/v1beta/models/two:predict", f"'two'.*'one': write {HERE}/v1beta$"),
        ("fal", f"fal-ai/one@{HERE}/fal-ai/two", f"'fal-ai/two', .*: write {HERE}$"),
        ("replicate", f"a/b@{HERE}/v1/models/a/c/predictions", f"'a/c', .*: write {HERE}/v1$"),
        ("stability", f"core@{HERE}/v2beta/stable-image/generate/ultra", "'ultra', .*/v2beta$"),
        ("bedrock", f"one@{HERE}/model/two/invoke", f"'two', .*: write {HERE}$"),
    ],
)
def test_another_request_is_refused_with_the_right_address(service, source, words):
    with pytest.raises(ConfigurationError, match=words) as raised:
        address_of(service, source)
    assert "k-0" not in str(raised.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (f"{HERE}/v1/images/generations", f"use --t2i-model openai:MODEL@{HERE}/v1"),
        ("https://huggingface.co/owner/name", "use --t2i-model hf:PROVIDER/owner/name"),
        ("https://huggingface.co/owner/name/tree/main", "use --t2i-model hf:PROVIDER/owner/name,"),
    ],
)
def test_an_address_that_is_no_dedicated_endpoint(source, words):
    with pytest.raises(ConfigurationError, match=words):
        hugging_face.load(LoadOptions(source=source))


@pytest.mark.parametrize("end", ["", "/chat/completions", "/chat/completions/", "/models"])
def test_a_judge_and_a_language_model(monkeypatch, end):
    assert vlm._split(f"judge@{HERE}/v1{end}")[1].rstrip("/") == f"{HERE}/v1"
    monkeypatch.setenv("VLM_BASE_URL", f"{HERE}/v1{end}")
    assert vlm._split("judge")[1].rstrip("/") == f"{HERE}/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", f"{HERE}/v1{end}")
    assert ChatEndpoint("m", AnswerLimits())._address.rstrip("/") == f"{HERE}/v1"


def test_a_judge_at_a_deployment_of_azure():
    address = f"{HERE}/openai/deployments/gpt/chat/completions?{NOW}"
    with pytest.raises(ConfigurationError, match=f"write {HERE}/openai/v1$"):
        vlm._split(f"judge@{address}")
