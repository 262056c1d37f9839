"""A whole run on a model behind HTTP: images once, refusals shown, no torch, and no key left."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("openai")
pytest.importorskip("huggingface_hub")

from image_server import POLICY, serving
from judge_server import judging
from leaks import leaks
from tutorial_blocks import File, steps

from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.cli.main import main

KEY = "sk-very-secret-0123"
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=6)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 1.0)
"""
WITHOUT = """
import sys
class Absent:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "diffusers", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent)
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""
PAGE = Path(__file__).parents[2] / "docs" / "endpoints.md"


@pytest.fixture
def endpoint(project, monkeypatch):
    """A project whose environment holds a key."""
    project.write({"test_suite.py": SUITE})
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", KEY)
    monkeypatch.setenv("PAINTER_API_KEY", KEY)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    # Requests are counted here: those that try the seeds are left out, and the order is known.
    monkeypatch.setenv("PYTEST_ADDOPTS", "--t2i-probe never --t2i-concurrency 1")
    return project


def test_a_key_is_found_in_each_of_the_eight_encodings(tmp_path):
    file = tmp_path / "left.txt"
    ways = {
        "plain": KEY.encode(),
        "percent": KEY.replace("-", "%2D").encode(),
        "percent of all": "".join(f"%{ord(c):02X}" for c in KEY).encode(),
        "base64": base64.b64encode(f"Bearer {KEY}\n".encode()),
        "base64url": base64.urlsafe_b64encode(f"k={KEY}?".encode()),
        "hex": KEY.encode().hex().upper().encode(),
        "UTF-16": KEY.encode("utf-16"),
        "UTF-16BE": KEY.encode("utf-16-be"),
        "JSON": "".join(f"\\u{ord(c):04X}" for c in KEY).encode(),
        "HTML": "".join(f"&#{ord(c)};" for c in KEY).encode(),
        "HTML in hexadecimal": "".join(f"&#x{ord(c):x};" for c in KEY).encode(),
    }
    for way, content in ways.items():
        file.write_bytes(b"before " + content + b" after")
        assert leaks(tmp_path, KEY), way


def said(result):
    return result.stdout.str() + result.stderr.str()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openai:fake@{url}", "hf:{origin}/hf"])
def test_the_second_run_makes_no_image(endpoint, name):
    with serving() as server:
        model = name.format(url=server.url, origin=server.origin)
        result = endpoint.run(model=model)
        assert "images: 12 made" in said(result)
        assert len(server.asked) == 12
        again = endpoint.run(model=model)
        assert "12 from the store" in said(again)
    assert result.ret == again.ret == 0
    assert len(server.asked) == 12
    assert endpoint.record()["provenance"]["model"]["endpoint"] in {
        server.url,
        f"{server.origin}/hf",
    }


@pytest.mark.slow
def test_a_further_field_makes_other_pictures_and_is_recorded(endpoint):
    with serving() as server:
        model, high = f"openai:fake@{server.url}", ("--t2i-model-option", "quality=high")
        endpoint.run(model=model)
        assert "12 made" in said(endpoint.run(*high, model=model))
        record = endpoint.record()
        assert "12 from the store" in said(endpoint.run(model=model))
        assert "12 from the store" in said(endpoint.run(*high, model=model))
        told = said(endpoint.run("--t2i-model-option", "n=4", model=model))
    assert [body.get("quality") for _, _, body in server.asked] == [None] * 12 + ["high"] * 12
    assert record["settings"]["model_option"] == {"quality": "high"}
    assert record["provenance"]["model"]["extra"] == "quality=high (sent, not confirmed)"
    assert "expected further fields of a request, got n: the run sets it" in told


@pytest.mark.slow
def test_the_address_may_come_from_the_environment(endpoint, monkeypatch):
    with serving() as server:
        endpoint.run(model=f"openai:fake@{server.url}")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/")
        assert "12 from the store" in said(endpoint.run(model="openai:fake"))
    assert len(server.asked) == 12


def test_what_was_made_before_an_error_is_not_asked_for_again(endpoint):
    with serving(*[None] * 7, "denied") as server:
        result = endpoint.run(model=f"openai:fake@{server.url}")
        assert result.ret != 0
        assert (
            f"openai:fake at 127.0.0.1:{server.server_port}: HTTP 401: wrong key [hidden]"
            in said(result)
        )
        assert "images: 5 made" in said(endpoint.run(model=f"openai:fake@{server.url}"))
    assert len(server.asked) == 8 + 5
    seeds = [(body["prompt"], body["seed"]) for body in server.bodies]
    assert len(set(seeds)) == 12


@pytest.mark.slow
def test_after_a_repair_nothing_is_paid_again(endpoint, capsys):
    suite = SUITE.replace("prompt_bias_score", "group_distance").replace("images=6", "images=20")
    endpoint.write({"test_suite.py": suite})
    with serving(*[None, "policy"] * 8) as server, judging() as judge:
        model, detector = f"openai:fake@{server.url}", f"vlm:judge@{judge.address}+gender+age"
        first = endpoint.run("--t2i-detector", detector, model=model)
        assert "8 refused" in said(first)
        asked, judged = len(server.asked), judge.pictures
        assert main(["store", "repair", str(endpoint.path / ".t2i")]) == 0
        assert "a new index has 32 images, 8 refused" in capsys.readouterr().out
        again = endpoint.run("--t2i-detector", detector, model=model)
        assert (len(server.asked), judge.pictures) == (asked, judged)
    assert first.ret == again.ret
    assert "40 from the store" in said(again)


def test_several_are_asked_for_at_the_same_time_and_each_is_kept_as_it_comes(endpoint):
    arguments = ("--t2i-concurrency", "6")
    with serving(always="limited") as server:
        server.limit = 99
        assert "images: 12 made" in said(endpoint.run(*arguments, model=f"openai:a@{server.url}"))
        assert 2 < server.most <= 6
    with serving(*[None] * 5, always="denied") as server:
        result = endpoint.run(*arguments, model=f"openai:b@{server.url}")
        assert said(result).count("HTTP 401") == 1
        server.always, asked = None, len(server.asked)
        # What was delivered is not asked for again.
        assert "images: 7 made" in said(endpoint.run(*arguments, model=f"openai:b@{server.url}"))
        assert len(server.asked) == asked + 7


def test_refused_and_broken_images_are_undetected_and_shown(endpoint):
    with serving(None, "policy", "broken", "broken", "broken") as server:
        result = endpoint.run(model=f"openai:fake@{server.url}")
    assert "images: 12 made" in said(result)
    undetected = {
        one["undetected"]: one["detail"]
        for prompt in endpoint.record()["prompts"]
        for image in prompt["images"]
        for one in image["detections"].values()
        if one["undetected"]
    }
    assert undetected["refused"] == POLICY
    assert undetected["unreadable"].startswith("unreadable: expected a picture in the answer")
    assert len(undetected) == 2


@pytest.mark.slow
def test_no_key_is_left_by_a_run(endpoint):
    endpoint.write({"conftest.py": (endpoint.path / "conftest.py").read_text() + LOGGING})
    told = []
    with serving("busy", None, "policy_words", None, None, "denied") as server:
        for _ in range(2):
            result = endpoint.run_apart(
                "-vv", "--showlocals", "--full-trace", "--tb=long", "--junitxml=junit.xml",
                "--log-level=DEBUG", "-o", "junit_logging=all", "-o", "log_file=log.txt",
                "-o", "log_file_level=DEBUG", model=f"openai:fake@{server.url}",
            )  # fmt: skip
            told.append(said(result))
    assert "HTTP 401" in told[0]
    assert (endpoint.path / "reports/t2i/run.json").is_file()
    assert list(endpoint.path.rglob("*.sqlite"))
    assert leaks(endpoint.path, KEY, *told) == []


LOGGING = """
import logging
for name in ("openai", "httpx", "httpcore", "httpx2", "httpcore2", "huggingface_hub"):
    logging.getLogger(name).setLevel(logging.DEBUG)
"""


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai:", "openai: expected the name of a model"),
        ("openai:m", "openai:m at api.openai.com needs a key: set the environment variable OPENAI"),
        ("openai:m@http://me:{key}@host/v1", "expected an address without user"),
        ("hf:fal-ai", "hf: expected a provider and a model"),
        ("hf:fal-ai/owner/name", "needs a key: set the environment variable HF_TOKEN"),
    ],
)
def test_what_cannot_be_asked_is_one_clear_line(endpoint, monkeypatch, model, expected):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("HF_TOKEN")
    result = endpoint.run(model=model.format(key="word"))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert expected in " ".join(said(result).split())
    assert "Traceback" not in said(result)


@pytest.mark.slow
def test_a_whole_run_imports_no_torch(endpoint):
    with serving() as server:
        run = subprocess.run(
            [sys.executable, "-c", WITHOUT, "-p", "no:cacheprovider",
             "--t2i-model", f"openai:fake@{server.url}", "--t2i-detector", "colour"],
            cwd=endpoint.path, capture_output=True, text=True, check=False,
            env={**os.environ, **endpoint.environment()},
        )  # fmt: skip
    assert "images: 12 made" in run.stdout, run.stdout + run.stderr
    assert run.returncode == 0


def test_the_service_of_the_page_works(endpoint):
    pytest.importorskip("httpx")
    files = {step.name: step.content for step in steps(PAGE) if isinstance(step, File)}
    own = (endpoint.path / "conftest.py").read_text().replace("pytest_t2i_models", "unused")
    endpoint.write({**files, "conftest.py": f"{own}\n{files['conftest.py']}"})
    code = files["painter.py"].partition("class ")[2].splitlines()
    assert len([line for line in code if line.strip()]) <= 20
    with serving("busy", None, "policy") as server:
        result = endpoint.run(model=f"painter:oils@{server.origin}")
    assert "images: 12 made" in said(result)
    assert len(server.asked) == 13
    assert server.asked[0][1]["authorization"] == f"Bearer {KEY}"
    assert POLICY in str(endpoint.record())
    assert leaks(endpoint.path, KEY, said(result)) == []
