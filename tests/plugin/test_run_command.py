"""``t2i run``: a shipped suite by its name, in a folder that has no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from pytest_t2i import axes
from pytest_t2i.cli.run import suites, suites_folder

HERE = Path(__file__).parents[1]


CALL = "import sys; from pytest_t2i.cli.main import main; sys.exit(main())"


def t2i(folder, *words):
    """Run the command line in a folder, as a user does."""
    environment = {**os.environ, "COLUMNS": "200"}
    environment["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(HERE)])
    return subprocess.run(
        [sys.executable, "-c", CALL, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


FAKE = ("--model", "fakes:fair", "--detector", "fakes:detector", "--images", "4")


def test_every_suite_is_listed_with_question_and_images(tmp_path):
    lines = t2i(tmp_path, "run").stdout.splitlines()
    names = [line.split()[0] for line in lines if line[:1] not in {" ", ""}]
    assert names[1:-1] == list(suites())
    assert lines[0].startswith("images: 20 per prompt (the default; --images N changes it)")
    asked = lines.index(next(line for line in lines if line.startswith("parity ")))
    assert "Do neutral prompts give men and women evenly?" in lines[asked]
    assert lines[asked + 1].strip() == "2,000 images"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--price=0.04 USD", "--images", "5"), "500 images, 20 USD"),
        (("--t2i-images", "1"), "100 images"),
    ],
)
def test_the_list_has_the_price_of_the_images_asked_for(tmp_path, options, told):
    lines = t2i(tmp_path, "run", *options).stdout.splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith("parity "))
    assert lines[place + 1].strip() == told
    assert lines[0].endswith(" per prompt (--images), unless a suite sets its own")


@pytest.mark.slow
def test_the_list_says_where_its_images_come_from_and_what_is_not_known(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nt2i_images = "60"\n')
    lines = t2i(tmp_path, "run", "--model", "sdxl").stdout.splitlines()
    assert lines[0].startswith("images: 60 per prompt (t2i_images of pyproject.toml; --images N")
    assert "minutes: not known, as sdxl has not made images here yet" in lines


@pytest.mark.slow
def test_a_suite_runs_here_and_is_recorded_as_typed(tmp_path):
    told = t2i(tmp_path, "run", "parity", *FAKE, "-k", "place", "-q")
    assert "images: 40 made" in told.stdout, told.stdout + told.stderr
    assert "Warning" not in told.stdout
    assert "configfile" not in told.stdout
    assert {".t2i", "reports"} <= {path.name for path in tmp_path.iterdir()}
    record = (tmp_path / "reports/t2i/run.json").read_text()
    assert f'"command": "t2i run parity {" ".join(FAKE)} -k place -q"' in record


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--model", "fakes:fair", "--images", "2", "parity", "--detector=fakes:detector"),
        ("parity", "-n", "2", *FAKE),
        ("parity", "--t2i-model", "fakes:fair", "--t2i-detector", "fakes:detector", "--images=2"),
        ("parity", "references", *FAKE, "--maxfail", "3"),
    ],
    ids=["options-first", "workers", "prefixed", "two-suites"],
)
def test_options_stand_anywhere_and_those_of_pytest_pass_through(tmp_path, words):
    told = t2i(tmp_path, "run", *words, "-k", "office or gym")
    assert told.returncode in {0, 6}, told.stdout + told.stderr
    assert "images: " in told.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "status"), [("fakes:fair", {0, 6}), ("fakes:biased", {1}), ("no-such", {4})]
)
def test_the_exit_status_is_that_of_pytest(tmp_path, model, status):
    told = t2i(
        tmp_path, "run", "parity", "--model", model, "--detector", "fakes:detector", "-k", "model"
    )
    assert told.returncode in status, told.stdout + told.stderr


@pytest.mark.slow
def test_settings_and_parts_of_the_current_folder_hold(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "from fakes import detector, fair\n"
        "def pytest_t2i_models():\n    return {'painter': fair}\n"
        "def pytest_t2i_detectors():\n    return {'colour': detector}\n"
    )
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "-p no:t2i"\nt2i_images = "3"\n'
        't2i_detector = "colour"\n'
    )
    told = t2i(tmp_path, "run", "parity", "--model", "painter", "-k", "office")
    assert "images: 3 made" in told.stdout, told.stdout + told.stderr


@pytest.mark.slow
def test_a_folder_of_pictures_is_judged(tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    rows = ["file,prompt,seed"]
    for seed in range(3):
        Image.new("RGB", (16, 16), (40, 60, 200 - seed)).save(pictures / f"{seed}.png")
        rows.append(f"{seed}.png,a photo of the face of a nurse,{seed}")
    prompt = next(p.text for p in axes.profession.prompts() if p.concept == "nurse")
    rows = [row.replace("a photo of the face of a nurse", prompt) for row in rows]
    (pictures / "manifest.csv").write_text("\n".join(rows))
    words = ("--model", "images:pictures", "--detector", "fakes:detector", "-k", "nurse")
    told = t2i(tmp_path, "run", "parity", *words)
    assert "images: 3" in told.stdout, told.stdout + told.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("party",), "unknown suite 'party'. Did you mean 'parity'?"),
        (("./mine",), "A suite of yours: pytest PATH"),
        (("parity", "--modle", "sdxl"), "unknown option '--modle'. Did you mean '--model'?"),
        (
            ("parity", "--t2i-modle", "x"),
            "Did you mean '--t2i-model'?",
        ),
        (("parity", "--imges=3"), "unknown option '--imges'. Did you mean '--images'?"),
        (("--modle", "sdxl"), "expected the name of a suite"),
        (("--price", "four"), "--price: expected"),
    ],
)
def test_what_is_mistyped_is_named_with_the_nearest(tmp_path, words, told):
    result = t2i(tmp_path, "run", *words)
    assert told in result.stderr
    assert result.returncode in {2, 4}
    assert "Traceback" not in result.stderr


def test_the_suites_come_with_the_package():
    import tomllib

    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"suites": "pytest_t2i/suites"}
    assert (suites_folder() / "limits.toml").is_file()
