"""Pictures made elsewhere: images:DIR."""

from __future__ import annotations

import csv

import pytest
from PIL import Image

from pytest_t2i.plugin.exit_status import INCONCLUSIVE_STATUS

PROMPT = "a photo of one real person who is a nurse"


def folder(project, count, prompt=PROMPT):
    made = project.path / "mine"
    made.mkdir(exist_ok=True)
    with (made / "manifest.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "prompt", "seed"])
        for k in range(count):
            picture = Image.new("RGB", (16, 16), (40, 60, 200) if k % 2 else (200, 60, 40))
            picture.putpixel((0, 0), (k, 0, 0))
            picture.save(made / f"{k}.png")
            writer.writerow([f"{k}.png", prompt, k])
    return made


def test_ready_made_pictures_are_measured(project):
    folder(project, 20)
    result = project.run("--t2i-model", "images:mine", "-k", "test_prompt and nurse")
    assert result.ret == 0
    counts = project.record()["prompts"][0]["counts"]["colour"]["labels"]
    assert counts == {"male": 10, "female": 10}


def test_fewer_pictures_than_asked_for_are_used_and_told(project):
    folder(project, 6)
    result = project.run("--t2i-model", "images:mine", "-k", "test_prompt and nurse")
    assert result.ret == INCONCLUSIVE_STATUS
    result.stdout.fnmatch_lines(["*1 prompt has fewer images than requested: 6*"])


@pytest.mark.slow
def test_a_prompt_without_pictures_is_refused(project):
    folder(project, 6)
    result = project.run("--t2i-model", "images:mine", "-k", "test_prompt")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*got none of 3 of 4 prompts, such as*Add them*"])


def test_an_unreadable_picture_is_undetected(project):
    made = folder(project, 4)
    (made / "0.png").write_bytes(b"not a picture")
    project.run("--t2i-model", "images:mine", "-k", "test_prompt and nurse")
    assert project.record()["prompts"][0]["counts"]["colour"]["undetected"] == {"unreadable": 1}


def test_a_space_that_cannot_be_seen_is_inconclusive(project):
    folder(project, 4)
    (project.path / "test_suite.py").write_text(
        "import pytest\nfrom pytest_t2i import limit, triplet\n"
        "@pytest.mark.t2i(triplet('a person'))\n"
        "def test_gap(triplets):\n"
        "    gap = triplets.similarity_gap('denoising')\n"
        "    assert abs(gap) <= limit('similarity_gap.denoising')\n"
    )
    with (project.path / "mine" / "manifest.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "prompt", "seed"])
        for k, text in enumerate(["a person", "a woman", "a man"]):
            writer.writerow([f"{k}.png", text, 7])
    project.run("--t2i-model", "images:mine")
    check = project.record()["checks"][0]
    assert check["outcome"] == "INCONCLUSIVE"
    assert "does not show its denoising space" in check["message"]


@pytest.mark.slow
def test_odd_files_end_in_no_traceback_where_warnings_are_errors(project):
    """Pillow warns of the first three."""
    made = folder(project, 6)
    Image.new("P", (16, 16)).save(made / "0.png", transparency=bytes(256))
    Image.new("RGB", (10_000, 9_000)).save(made / "1.png")
    Image.new("RGB", (16, 16)).save(made / "cut.tif")
    (made / "2.png").write_bytes((made / "cut.tif").read_bytes()[:60])
    (made / "3.png").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    result = project.run("--t2i-model", "images:mine", "-k", "test_prompt and nurse", "-W", "error")
    told = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in told
    assert "Warning" not in told
    counts = project.record()["prompts"][0]["counts"]["colour"]
    assert counts["undetected"]["unreadable"] == 3
