"""``t2i research stop``: from a model and a concept to a page; what is refused."""

from __future__ import annotations

import json
import sys

import fakes
import numpy as np
import pytest
import tiny
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.cli.main import main
from stop_parts import Echo, WholePicture

pytestmark = pytest.mark.slow
FILE = "pytest_t2i_origins.languages.file:load"


@pytest.fixture
def stop(tmp_path, monkeypatch):
    """Run it on the fake model, whose pictures are blue or red."""
    offered = {
        "detector": {"colour": fakes.detector},
        "encoder": {"clip": fakes.text_encoder},
        "face": {"whole": lambda options: WholePicture()},
        "language": {"echo": lambda options: Echo(), "mute": lambda options: object()},
    }
    monkeypatch.setattr(Registry, "__init__", _with_local(offered))
    monkeypatch.setitem(sys.modules, "fakes", fakes)

    def run(*arguments, model="fakes:fair"):
        return main([
            "research", "stop", "--model", model, "--detector", "colour",
            "--store", str(tmp_path / ".t2i"), "--out", str(tmp_path / "out"),
            "--concept", "Iranian person", "--faces", "whole", *arguments,
        ])  # fmt: skip

    return run


def _with_local(offered):
    def init(self, kind, local=None):
        self.kind = kind
        self.local = dict(offered.get(kind, {})) if local is None else local

    return init


def test_clusters_prompts_and_a_page(stop, tmp_path, capsys):
    arguments = ("--llm", "echo", "--images", "16", "--made", "4", "--tokens", "1")
    assert stop(*arguments) == 0
    out = capsys.readouterr().out
    assert "2 clusters of 16 images, 0 without a face" in out
    found = json.loads((tmp_path / "out" / "origins.json").read_text())
    best = {tuple(c["prompts"][0]["text"].split()[-1:]) for c in found["clusters"]}
    assert best == {("blue",), ("red",)}
    for cluster in found["clusters"]:
        assert cluster["plain"]["low"] <= cluster["plain"]["high"]
        assert cluster["optimised"]["n"] == 4
    assert np.isclose(sum(c["share"]["estimate"] for c in found["clusters"]), 1.0)
    page = (tmp_path / "out" / "index.html").read_text()
    # Two mean faces, and four images of each best prompt.
    assert page.count('src="data:image/') == 2 + 2 * 4
    assert len(list((tmp_path / "out").glob("cluster-*.png"))) == 2 + 2 * 4
    assert "This is a photo of blue" in page
    assert page.count(", mean stereotype score ") == 2
    # Pictures that are plain blue or red show nothing that is known of Iranians.
    assert [known["name"] for known in found["shown"]][:2] == ["man", "turban"]
    assert "all images with a face, beside the real world" in out
    assert "  turban                  0 %   0.2 %\n" in out
    assert page.count('<th scope="row">turban</th>') == 1
    assert '<th scope="row">turban</th><td>0.2 %</td>' in page


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--llm", "echo", "--images", "3"), "3 images with a face: too few for several clusters"),
        (("--llm", "echo", "--images", "4", "--clusters", "9"), "too few for 9 clusters"),
        (
            ("--llm", "echo", "--prompt", "a photo of a dog"),
            "does not name 'Iranian', but its images are compared with the",
        ),
        (("--llm", "echo", "--prompt", ""), "--prompt '' does not name 'Iranian'"),
        (("--llm", "echo", "--out", __file__), "--out: expected a folder, "),
        (
            ("--llm", "mute"),
            "--llm mute: expected a language model that continues texts, got object. Choose",
        ),
        (("--llm", "ecko"), "unknown language 'ecko'. Did you mean 'echo'?"),
        (("--llm", "echo", "--faces", "hole"), "unknown face 'hole'"),
        (("--llm", "echo", "--likely", "1.5"), "likely is a probability of at least 0 and below 1"),
        (("--llm", "echo", "--sentences"), "ends no sentence within 12 (at 0.05 or more) likely"),
    ],
)
def test_what_is_refused(stop, capsys, arguments, expected):
    assert stop(*arguments) == 2
    assert expected in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("llm", ["openai:m", "file:absent", f"{FILE}:answer.json", "mute"])
def test_a_model_that_only_answers_is_refused_before_an_image_is_made(
    stop, tmp_path, monkeypatch, capsys, llm
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "answer.json").write_text("{}")
    monkeypatch.setattr(
        fakes.FakeModel, "generate", lambda *given: pytest.fail("an image was made")
    )
    assert stop("--llm", llm) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert told.startswith(f"ERROR: --llm {llm}: ")
    assert "Choose transformers:FOLDER or hub id, or module:factory" in told


def test_the_help_names_what_continues_texts(capsys):
    with pytest.raises(SystemExit):
        main(["research", "stop", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "--llm NAME transformers:FOLDER or hub id, or module:factory[:SOURCE] of one" in told
    about_llm = told.partition("--llm NAME transformers")[2].partition(" --")[0]
    assert "openai:MODEL" not in about_llm
    assert "file:FILE" not in told


def test_a_tiny_language_model(stop, tmp_path):
    llm = f"pytest_t2i_origins.languages.transformers:load:{tiny.written(tiny.write_causal)}"
    assert stop("--llm", llm, "--images", "8", "--made", "2", "--width", "4", "--beam", "3") == 0
    found = json.loads((tmp_path / "out" / "origins.json").read_text())
    assert all(len(c["prompts"]) >= 3 for c in found["clusters"])
