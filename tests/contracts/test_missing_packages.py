"""Every registered name says what to install where a package that it needs is not there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from PIL import Image

from pytest_t2i.adapters import mitigations, registry
from pytest_t2i.adapters.languages.routing import load_language
from pytest_t2i.adapters.registry import BROUGHT, EXTRA_OF, GROUPS, INSTALL, Registries, Registry
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.cli.main import main
from pytest_t2i.errors import ConfigurationError, MissingExtraError, MissingExtrasError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.store import Store
from pytest_t2i.runs.session.session import Session
from pytest_t2i.settings import settings_of

TESTS = Path(__file__).parent.parent
MODULES = sorted({module for modules in BROUGHT.values() for module in modules})
ASK = """
import os, sys, json, tempfile, warnings
import without
without.hide(*sys.argv[1].split(","))
warnings.simplefilter("ignore")
keys = "FAL_KEY HF_TOKEN TOGETHER_API_KEY STABILITY_API_KEY REPLICATE_API_TOKEN GEMINI_API_KEY " \\
    "AZURE_OPENAI_API_KEY OPENROUTER_API_KEY AWS_BEARER_TOKEN_BEDROCK OPENAI_API_KEY"
os.environ |= {**dict.fromkeys(keys.split(), "k"), "HF_HUB_OFFLINE": "1", "AWS_REGION": "eu"}
from pathlib import Path
from pytest_t2i.adapters.languages.routing import load_language
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.settings import settings_of

folder, registries, errors = Path(tempfile.mkdtemp()), Registries(), {}

def parts(model="owner/name", **options):
    settings = settings_of({"model": model, "store": folder, "report": folder, **options})
    return Components(settings, Store(folder))

def ask(kind, name, load):
    try:
        load()
    except BaseException as error:
        errors[f"{kind} {name}"] = [type(error).__name__, str(error)]

local = parts()
for name in ("sdxl", "reference", "owner/name", *registries.models.names()):
    source = "" if name not in registries.models else ":m@http://127.0.0.1:1"
    source = ":fal-ai/owner/name" if name == "hf" else source
    ask("model", name, lambda: parts(name + source).model().get())
for name in (*registries.detectors.names(), "vlm:transformers/owner/name"):
    if name == "vlm":  # loading it asks the server
        ask("detector", name, lambda: registries.detectors.get(name))
    else:
        ask("detector", name, lambda: local.detector(DetectorRef(name)).get())
for name in registries.encoders.names():
    ask("encoder", name, lambda: local.encoder(name).get())
for name in registries.objects.names():
    ask("object", name, lambda: local.finder(name).get())
for kind in ("face", "person"):
    for name in registries.of(kind).names():
        ask(kind, name, lambda: registries.of(kind).get(name)(LoadOptions()))
for name in registries.languages.names():
    ask("language", name, lambda: load_language(name if name == "reference-lm" else f"{name}:m"))
for name in registries.executors.names():
    ask("executor", name, lambda: parts(executor=name).executor(1, print))
for kind in ("mitigation", "catalogue", "labelled_set", "label_file", "audit", "metric", "command"):
    for name in registries.of(kind).names():
        ask(kind, name, lambda: registries.of(kind).get(name))
print("\\n" + json.dumps(errors))
"""
RAW = re.compile(
    r"ModuleNotFoundError|ImportError|No module named|Could not import|not installed[^.]*$"
)
"""What a library itself says of a package that is not there."""


def asked_without(*modules: str) -> dict[str, tuple[str, str]]:
    """The error of each registered name where these packages are not installed."""
    command = [sys.executable, "-c", ASK, ",".join(modules)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=TESTS, timeout=200
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_each_name_names_its_extra(module):
    missing = f"needs the package {module!r}, which is not installed. Run: pip install"
    for name, (kind, words) in asked_without(module).items():
        assert not RAW.search(words), (name, words)
        if missing in words:
            extra = re.search(r'"pytest-t2i\[(.*)\]"', words)
            assert kind == "MissingExtraError"
            assert extra is None or module in BROUGHT.get(extra[1], (module,)), (name, words)
            assert extra is not None or "pip install pytest-t2i-" in words, (name, words)


@pytest.mark.slow
def test_with_no_package_each_name_has_its_own_extra():
    errors = asked_without(*MODULES)
    assert errors["model sdxl"][1] == (
        "the model sdxl needs the package 'torch', which is not installed. "
        'Run: pip install "pytest-t2i[diffusers]"'
    )
    for (kind, name), extra in EXTRA_OF.items():
        if (told := errors.get(f"{kind} {name}")) is not None:
            assert f"{name} needs the package" in told[1]
            assert f'Run: pip install "pytest-t2i[{extra}]"' in told[1]
    assert "pip install pytest-t2i-goya" in errors["encoder goya"][1]


def brought_by(extra: str) -> set[str]:
    """The distributions that an extra of ours installs, with all that they require."""
    waiting, seen = [Requirement(f"pytest-t2i[{extra}]")], set()
    while waiting:
        requirement = waiting.pop()
        key = (requirement.name.lower().replace("_", "-"), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            required = [Requirement(text) for text in requires(requirement.name) or ()]
        except PackageNotFoundError:
            continue
        for one in required:
            extras = [{"extra": extra} for extra in requirement.extras] or [{"extra": ""}]
            if one.marker is None or any(one.marker.evaluate(extra) for extra in extras):
                waiting.append(one)
    return {name for name, _ in seen}


@pytest.mark.parametrize("extra", BROUGHT)
def test_an_extra_installs_what_it_is_said_to_install(extra):
    installed, distributions = packages_distributions(), brought_by(extra)
    for module in BROUGHT[extra]:
        if module in installed:
            names = {name.lower().replace("_", "-") for name in installed[module]}
            assert names & distributions, (extra, module)


def companions() -> dict[tuple[str, str], str]:
    """Kind and name of all that the companions register -> the companion."""
    kinds = {group: kind for kind, group in GROUPS.items()}
    return {
        (kinds[group], name): file.parent.name
        for file in sorted((TESTS.parent / "plugins").glob("*/pyproject.toml"))
        for group, points in tomllib.loads(file.read_text())["project"]["entry-points"].items()
        if group in kinds and kinds[group] != "catalogue"
        for name in points
    }


@pytest.mark.parametrize(("part", "companion"), companions().items())
def test_a_name_of_a_companion_names_the_companion(part, companion, monkeypatch):
    kind, name = part
    listed = ("command", "research") if name.startswith("research.") else part
    assert f"pip install {companion} " in INSTALL[listed]
    monkeypatch.setattr(registry, "_installed", lambda group: {})
    if kind not in {"command", "label_file"}:
        with pytest.raises(ConfigurationError, match=f"Run: pip install {companion} "):
            Registry(kind).get(name)
    if kind == "mitigation":
        with pytest.raises(ConfigurationError, match=f"Run: pip install {companion} "):
            mitigations.load_mitigation(Registry(kind), name)


def test_each_fixture_of_a_companion_names_it():
    brought = {
        name: companion for (kind, name), companion in companions().items() if kind == "audit"
    }
    fixtures = {
        name: brought[audit.name]
        for audit in installed_audits()
        if audit.name in brought
        for name in audit.fixtures
    }
    assert {"crowd", "mitigated"} <= fixtures.keys()
    for name, companion in fixtures.items():
        assert f"pip install {companion} " in INSTALL["fixture", name]


def test_a_command_names_the_companion_that_is_not_whole(tmp_path, monkeypatch, capsys):
    Image.new("RGB", (32, 32), "grey").save(tmp_path / "a.png")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "pytest_t2i_labelling.server", raising=False)
    assert main(["label", "page", str(tmp_path), "--annotator", "ada"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "ERROR: the command t2i label page needs the package 'uvicorn', which is not installed. "
        "Run: pip install pytest-t2i-labelling"
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda parts: parts(model="reference").model(),
        lambda parts: parts(model="reference-sd3-biased").model(),
        lambda parts: parts().detector(DetectorRef("clip:reference")),
        lambda parts: parts().detector(DetectorRef("clip-enhance:reference")),
        lambda parts: parts().finder("yolo:reference-objects"),
        lambda parts: load_language("reference-lm"),
        lambda parts: Session(parts(labels="drawn").settings, parts()).labelled,
    ],
)
def test_the_reference_models_name_their_companion(ask, monkeypatch, tmp_path):
    points = registry._installed(GROUPS["catalogue"])
    papers = {"papers": points["papers"]}
    kept = registry._installed
    monkeypatch.setattr(
        registry,
        "_installed",
        lambda group: (
            papers
            if group == GROUPS["catalogue"]
            else {n: p for n, p in kept(group).items() if p.dist.name == "pytest-t2i"}
        ),
    )

    def parts(**options):
        settings = settings_of({"store": tmp_path, "report": tmp_path, **options})
        return Components(settings, Store(tmp_path), Registries())

    with pytest.raises(ConfigurationError, match="Run: pip install pytest-t2i-reference "):
        ask(parts)


def test_several_are_told_in_one_line():
    errors = [
        MissingExtraError("the detector clip-prob", "clip,faces", "torch"),
        MissingExtraError("nouns", "nouns", "textblob"),
        MissingExtraError("the encoder own", "", "own", "own-encoders"),
        MissingExtraError("the encoder clip", "clip", "torch"),
    ]
    told = str(MissingExtrasError(errors))
    assert told.endswith('Run: pip install "pytest-t2i[clip,faces,nouns]" own-encoders')
