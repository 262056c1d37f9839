"""Detectors, object detectors and encoders by ``module:factory``, as models are named."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from pytest_t2i.adapters.detectors.parts import face_part
from pytest_t2i.adapters.registry import Registries, Registry, named_part
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.settings import Settings

FEW = ("--t2i-images", "2", "-k", "test_prompt")
OWN = """
class Own:
    labels = ("male", "female")

    def __init__(self, options):
        self.fingerprint = self.source = options.source

    def detect(self, images):
        return []
"""


def said(project):
    """The deciding detector's labels in the last run, image by image."""
    images = [image for prompt in project.record()["prompts"] for image in prompt["images"]]
    return [next(iter(image["detections"].values()))["label"] for image in images]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module of a user's own, and what a run in its folder works with."""
    (tmp_path / "own_parts.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_parts", raising=False)
    return Components(Settings(model="sdxl"), Store(tmp_path / "store"))


def test_a_detector_by_its_factory_says_what_a_registered_one_says(project):
    named = project.run(*FEW, "--t2i-detector", "fakes:detector")
    words = said(project)
    registered = project.run(*FEW, "--t2i-detector", "colour")
    assert named.ret == registered.ret
    assert words == said(project)
    assert set(words) == {"male", "female"}


@pytest.mark.parametrize(
    ("detector", "expected"),
    [
        ("fakes:absent", "unknown factory in module 'fakes' 'absent'"),
        ("no_such_module:make", "module 'no_such_module' not found in /"),
        ("no_such_module:make", "expected module:factory[:source] or a registered detector"),
        ("no_such_package.module:make", "there is no module 'no_such_package.module'"),
        ("./fakes.py:make", "unknown detector './fakes.py'"),
        (":make", "unknown detector ''"),
        ("fakes", "unknown detector 'fakes'"),
        ("broken:make", "module 'broken' failed: ZeroDivisionError: division by zero (/"),
        ("wanting:make", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("fakes:BLUE", "unknown factory in module 'fakes' 'BLUE'"),
        ("builtins:repr", "expected it to return an object with a fingerprint"),
    ],
)
def test_what_cannot_be_a_detector_is_one_clear_message(project, detector, expected):
    project.write({"broken.py": "1 / 0", "wanting.py": "import no_such_module"})
    result = project.run(*FEW, "--t2i-detector", detector)
    told = " ".join((result.stdout.str() + result.stderr.str()).split())
    assert result.ret == pytest.ExitCode.USAGE_ERROR, told
    assert expected in told
    assert "INTERNALERROR" not in told


@pytest.mark.parametrize("kind", ["detector", "encoder", "finder"])
def test_what_follows_the_factory_is_its_source(own, kind):
    named = {
        "detector": lambda name: own.detector(DetectorRef(name)),
        "encoder": own.encoder,
        "finder": own.finder,
    }[kind]
    assert named("own_parts:Own").get().source == ""
    assert named("own_parts:Own:weights/mine.pt").get().source == "weights/mine.pt"


def test_another_version_of_its_code_is_another_detector(own, tmp_path):
    named = own.detector(DetectorRef("own_parts:Own"))
    assert named.origin.states() is None, "what a user's file depends on is not known"
    before = named.fingerprint
    (tmp_path / "own_parts.py").write_text(OWN.replace("return []", "return [None]"))
    del sys.modules["own_parts"]  # as in a process that starts anew
    fresh = Components(Settings(model="sdxl"), Store(tmp_path / "store"))
    assert fresh.detector(DetectorRef("own_parts:Own")).fingerprint != before


def test_a_face_part_of_an_alias_may_be_a_factory(own):
    extra = {"weights": {"faces": "own_parts:Own:weights"}, "registries": Registries()}
    assert face_part(LoadOptions(extra=extra), "dlib-hog").source == "weights"


def test_a_registered_name_wins_over_a_module():
    registry = Registry("detector")
    registry.update({"json": dict})
    assert named_part(registry, "json:loads") == (dict, "loads")
    assert named_part(Registry("detector"), "json:loads:x")[1] == "x"


def test_a_module_that_is_no_name_of_one():
    for name in ("a b:make", "a-b:make", "__nowhere__:make", "1:make"):
        with pytest.raises(UnknownNameError, match=r"unknown detector|not found in"):
            Registry("detector").named(name)
    with pytest.raises(ConfigurationError, match="there is no module"):
        Registry("detector").named("json.nowhere:make")


FILES = {
    "own_painter.py": """
        import itertools

        from PIL import Image
        from pytest_t2i import Detection, Generated

        class Both:
            fingerprint = "both-1"
            labels = ("male", "female")

            def generate(self, requests):
                for request in requests:
                    colour = (request.seed % 256, request.seed // 256 % 256, 0)
                    yield Generated(Image.new("RGB", (8, 8), colour))

            def detect(self, images):
                return [Detection(label) for _, label in zip(images, itertools.cycle(self.labels))]

        def make(options):
            return Both()
    """,
    "test_one.py": """
        import pytest
        from pytest_t2i import axes, limit

        @pytest.mark.t2i(axes.place)
        def test_model_bias_score(samples):
            assert samples.model_bias_score <= limit("model_bias_score", 0.9)
    """,
}
NAMED = ("--t2i-model", "own_painter:make", "--t2i-detector", "own_painter:make")
REGISTERED = {
    "conftest.py": """
        import own_painter

        def pytest_t2i_models():
            return {"both": own_painter.make}

        def pytest_t2i_detectors():
            return {"both": own_painter.make}
    """
}
BOTH = ("--t2i-model", "both", "--t2i-detector", "both")
INI = "[pytest]\nt2i_model = own_painter:make\nt2i_detector = own_painter:make\n"
CLONE = {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]'}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "where", "options"),
    [
        ({}, ".", NAMED),
        (REGISTERED, ".", BOTH),
        (CLONE, ".", NAMED),
        (CLONE | REGISTERED, ".", (*BOTH, "-n", "2")),
        (CLONE | REGISTERED, "sub", (*BOTH, "sub")),
        (
            {"pytest.ini": INI},
            ".",
            (),
        ),
    ],
)
def test_plain_pytest_finds_the_modules_of_the_project(pytester, files, where, options):
    """The script pytest searches no current folder, which ``python -m pytest`` does."""
    for name, text in {**FILES, **files}.items():
        folder = pytester.path if name == "pyproject.toml" else pytester.path / where
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text))
    command = (sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", *options)
    command += ("--t2i-images", "10")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checks: 1 passed, 0 failed" in done.stdout
