"""t2i demo: a PASS and a FAIL by the code that judges every run, without torch."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import as_file

import msgspec
import pytest
from PIL import Image

from pytest_t2i.cli import demo
from pytest_t2i.cli.demo import ARCHIVE, SHIPPED, StoredAnswers, read_shipped, run, unpack_shipped
from pytest_t2i.cli.main import main
from pytest_t2i.data import Outcome
from pytest_t2i.errors import DetectorError
from pytest_t2i.runs.record.read_run import read_run

ABSENT = (
    "torch", "torchvision", "diffusers", "transformers", "accelerate", "ultralytics", "dlib",
    "open_clip", "pandas",
)  # fmt: skip
"""What the core does not bring."""
WITHOUT = f"""
import sys
class Absent:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent)
try:
    import torch
except ImportError:
    from pytest_t2i.cli.main import main
    sys.exit(main(["demo"]))
"""
EXPECTED = {"reference": Outcome.PASS, "reference-biased": Outcome.FAIL}
MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The folder it was called in, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder, done.stdout


@pytest.fixture
def pictures(tmp_path):
    """The unpacked pictures of the balanced model."""
    return unpack_shipped(tmp_path / "pictures")[0]


@pytest.mark.slow
def test_it_says_pass_and_fail_and_what_to_type_next(shown):
    folder, told = shown
    lines = told.splitlines()
    assert [line.partition(":")[0] for line in lines if line.startswith(("PASS", "FAIL"))] == [
        "PASS", "FAIL",
    ]  # fmt: skip
    assert any(line.strip().startswith("t2i init") for line in lines)
    pages = [line.split("page: ")[1] for line in lines if "page: " in line]
    assert pages == [f"reports/t2i/demo/{model}/index.html" for model in EXPECTED]
    assert all((folder / page).is_file() for page in pages)


@pytest.mark.slow
@pytest.mark.parametrize("model", EXPECTED)
def test_a_page_says_whose_pictures_these_are(shown, model):
    folder = shown[0] / "reports/t2i/demo" / model
    assert f"These are shipped pictures of {model} (" in (folder / "index.html").read_text()
    assert f"these are shipped pictures of {model} (" in (folder / "summary.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("model", EXPECTED)
def test_the_record_is_that_of_a_run(shown, model):
    record = read_run(shown[0] / "reports/t2i/demo" / model / "run.json")
    (check,) = record.checks_of("model_bias_score")["model"]
    assert record.outcome is check.outcome is EXPECTED[model]
    assert "13 in 20 images" in check.reason
    assert len(record.prompts) == len(record.checks_of("prompt_bias_score")) == 12


@pytest.mark.slow
def test_the_labels_decide(tmp_path, monkeypatch, capsys):
    """The balanced model fails once the stored labels all say the same."""

    def one_sided(folder):
        shipped = read_shipped(folder)
        rows = [
            msgspec.structs.replace(row, label="male", undetected=None) for row in shipped.images
        ]
        return msgspec.structs.replace(shipped, images=rows)

    monkeypatch.setattr("pytest_t2i.cli.demo.read_shipped", one_sided)
    monkeypatch.setattr(demo, "unpack_shipped", lambda folder: unpack_shipped(folder)[:1])
    assert run(tmp_path / "out") == 0
    assert "\nFAIL: Outside the limits: the model bias score, 12 of 12" in capsys.readouterr().out


@pytest.mark.slow
def test_a_second_call_gives_the_same(shown, monkeypatch, capsys):
    monkeypatch.chdir(shown[0])
    assert main(["demo"]) == 0
    assert capsys.readouterr().out.split() == shown[1].split()


def test_the_archive_is_small():
    with as_file(SHIPPED / ARCHIVE) as file:
        assert file.stat().st_size <= MOST_BYTES


@pytest.mark.parametrize("number", [0, 1])
def test_every_prompt_has_as_many_pictures(tmp_path, number):
    shipped = read_shipped(unpack_shipped(tmp_path)[number])
    texts = [row.prompt for row in shipped.images]
    assert shipped.model == [*EXPECTED][number]
    assert {texts.count(prompt.text) for prompt in shipped.prompts} == {shipped.images_per_prompt}
    assert len(shipped.prompts) == len({*texts})


def test_every_picture_has_its_own_answer(pictures):
    shipped = read_shipped(pictures)
    answers = StoredAnswers(pictures, shipped)
    opened = [Image.open(pictures / row.file).convert("RGB") for row in shipped.images]
    assert answers.detect(opened) == [row.detection for row in shipped.images]


def test_a_picture_that_did_not_ship_has_no_answer(pictures):
    answers = StoredAnswers(pictures, read_shipped(pictures))
    with pytest.raises(DetectorError, match="that ship with the package"):
        answers.detect([Image.new("RGB", (80, 80))])


def test_a_damaged_picture_is_told(pictures):
    shipped = read_shipped(pictures)
    (pictures / shipped.images[0].file).write_bytes(b"")
    with pytest.raises(DetectorError, match="cannot be read"):
        StoredAnswers(pictures, shipped).detect([])


def test_other_answers_are_another_detector(pictures):
    shipped = read_shipped(pictures)
    before = StoredAnswers(pictures, shipped).fingerprint
    shipped.images[0].label = "male" if shipped.images[0].label == "female" else "female"
    assert StoredAnswers(pictures, shipped).fingerprint != before


@pytest.mark.parametrize("inside", ["", "deeper"])
def test_a_folder_that_cannot_be_written_is_told(tmp_path, inside, capsys):
    file = tmp_path / "file"
    file.write_text("")
    assert main(["demo", "--report", str(file / inside)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "cannot be written" in told
    assert "Name another folder" in told
