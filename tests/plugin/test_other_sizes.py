"""A picture of another size than requested is stated; one of another aspect ends the run."""

from __future__ import annotations

import base64
import io

import pytest
from image_server import serving
from PIL import Image

SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=4)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.any", 1.0)
"""
MODEL = """
from PIL import Image
from pytest_t2i import Generated

class Sized:
    def __init__(self, sizes):
        self.sizes, self.fingerprint = sizes, f"sized {sizes}"

    def generate(self, requests):
        return [
            Generated(Image.new("RGB", self.sizes[r.seed % len(self.sizes)], (r.seed % 255, 9, 9)))
            for r in requests
        ]

def load(options):
    return Sized([tuple(map(int, one.split("x"))) for one in options.source.split("+")])
"""
PLUG = """
import sized

def pytest_t2i_models():
    return {"sized": sized.load}
"""
SQUARE = ("--t2i-size", "64x64")


@pytest.fixture
def sized(project):
    project.write({"test_suite.py": SUITE, "sized.py": MODEL})
    project.write({"plug.py": PLUG})
    return project


def ran(project, sizes, *arguments):
    result = project.run("-p", "plug", *arguments, "test_suite.py", model=f"sized:{sizes}")
    return result, " ".join((result.stdout.str() + result.stderr.str()).split())


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (
            "32x32",
            "8 of 8 pictures have another size than that of --t2i-size: 32 x 32 instead of 64",
        ),
        (
            "70x64",
            "8 of 8 pictures have another size than that of --t2i-size: 70 x 64 instead of 64",
        ),
        (
            "16x16",
            "8 of 8 pictures have another size than that of --t2i-size: 16 x 16 instead of 64 x 64",
        ),
    ],
)
def test_another_size_is_stated_everywhere(sized, sizes, words):
    for _ in range(2):  # the second run takes the pictures from the store
        result, told = ran(sized, sizes, *SQUARE)
        assert result.ret != pytest.ExitCode.USAGE_ERROR, told
        assert words in told
        assert any(words in note for note in sized.record()["work"]["notes"])
        assert words in sized.page()


def test_several_sizes_are_counted(sized):
    _, told = ran(sized, "64x64+32x32+66x64", *SQUARE)
    (note,) = [note for note in sized.record()["work"]["notes"] if "another size" in note]
    assert " of 8 pictures have another size" in note
    assert "32 x 32 instead of 64 x 64 (" in note
    assert "66 x 64 instead of 64 x 64 (" in note
    assert "64 x 64 instead" not in told


@pytest.mark.parametrize(
    ("sizes", "got"),
    [("64x32", "64 x 32"), ("1x5000", "1 x 5000"), ("64x57", "64 x 57"), ("100x64", "100 x 64"),
     ("64x64+64x48", "64 x 48")],
)  # fmt: skip
def test_another_aspect_ends_the_run(sized, sizes, got):
    result, told = ran(sized, sizes, *SQUARE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told.count("ERROR: ") == 1
    assert f"expected a picture of 64 x 64 pixels, as --t2i-size says, got {got} for" in told
    assert "Ask for a size that the model makes. What was made before is kept." in told
    assert "Traceback" not in told
    for file in sized.path.glob(".t2i/images/*/*.png"):
        with Image.open(file) as kept:
            assert kept.size == (64, 64)


@pytest.mark.parametrize(("sizes", "size"), [("64x32", ()), ("64x64", SQUARE), ("20x99+16x16", ())])
def test_nothing_is_said_without_a_reason(sized, sizes, size):
    _, told = ran(sized, sizes, *size)
    assert "another size" not in told
    assert sized.record()["work"]["notes"] == []


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("-n", "2"), ("--t2i-executor", "processes:2")])
def test_workers_compare_sizes_too(sized, arguments):
    if arguments[0] == "-n":
        pytest.importorskip("xdist")
    for sizes, words in (("64x32", "got 64 x 32 for"), ("32x32", "pictures have another size")):
        result = sized.run_apart(
            "-p", "plug", *SQUARE, *arguments, "test_suite.py", model=f"sized:{sizes}"
        )
        told = " ".join((result.stdout.str() + result.stderr.str()).split())
        assert words in told


def test_an_endpoint_that_ignores_the_size_is_not_paid_for_all(project, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    project.write({"test_suite.py": SUITE})
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(buffer, "PNG")
    entry = {"b64_json": base64.b64encode(buffer.getvalue()).decode()}
    with serving(None, always="written") as server:
        server.answer = 200, {"data": [entry]}, {}
        arguments = ("--t2i-size", "16x16", "--t2i-probe=never", "--t2i-price", "1 USD")
        result = project.run(*arguments, "--t2i-concurrency", "1", model=f"openai:m@{server.url}")
        told = " ".join((result.stdout.str() + result.stderr.str()).split())
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "got 64 x 48 for" in told
        assert len(server.asked) == 2, "the first picture is kept, the second ends the run"
    assert len(list(project.path.glob(".t2i/images/*/*.png"))) == 1
