"""t2i mitigate: one prompt, and the table of a suite."""

from __future__ import annotations

import sys

import pytest
from painted_project import PaintedProject

from pytest_t2i_mitigation.try_all import Tried, table

T2I = [sys.executable, "-c", "import sys; from pytest_t2i.cli.main import main; sys.exit(main())"]


@pytest.fixture
def project(tmp_path):
    return PaintedProject(tmp_path)


def called(project, *arguments):
    named = ("--model", "painter", "--detector", "colours", "--objects", "wardrobe")
    return project.call([*T2I, "mitigate", *named, *arguments])


RANDOM = "--mitigation=random-counterpart"
PARTS = """
import painting

def colours(options):
    return painting.Colours()

def quarters(options):
    return painting.Quarters()
"""


def shown(project, *arguments):
    """Of one prompt: a command knows no conftest.py."""
    (project.folder / "parts.py").write_text(PARTS)
    named = ("--model", "painting:Painter", "--detector", "parts:colours")
    return project.call([*T2I, "mitigate", *named, *arguments])


@pytest.mark.slow
def test_one_prompt_is_a_page_of_pictures_before_and_after(project):
    asked = ("a person who is a nurse", "--mitigation", "random-counterpart", "--images", "3")
    result = shown(project, *asked, "--report", "page")
    assert result.returncode == 0, result.stderr
    first, *seeds, counts, page = result.stdout.splitlines()
    assert first == "3 seeds; a picture with the mitigation costs 1 times a plain one"
    assert [line.split(":")[0] for line in seeds] == ["seed 0", "seed 1", "seed 2"]
    assert all("“a woman who" in line or "“a man who" in line for line in seeds)
    assert counts.startswith("Before: ")
    assert page == "page: page/index.html"
    html = (project.folder / "page/index.html").read_text()
    assert "a woman who is a nurse" in html
    assert html.count("data:image/") == 6
    assert len([*(project.folder / "page/pictures").iterdir()]) == 6
    # The same seed again, whoever it shows.
    again = shown(project, *asked, "--report", "again", "--seed", "2", "--images", "1")
    assert seeds[2] in again.stdout


@pytest.mark.slow
def test_a_path_is_shown_with_its_weights_distances_and_beta(project, tmp_path):
    tiny = pytest.importorskip("tiny", reason="stands in the tests of the repository")
    folder = tiny.write_stable_diffusion_3(tmp_path / "sd3")
    asked = ("--model", str(folder), "--detector", "parts:colours", "--steps", "5", "--images", "2")
    named = (
        "--mitigation",
        "post-attention-interpolation:mode=path,k=4,n=3,encoder=parts:quarters",
    )
    result = shown(project, *asked, *named, "--report", "p", "a person at work")
    assert result.returncode == 0, result.stderr
    page = (project.folder / "p/index.html").read_text()
    for words in ("The path of seed 0", "The path of seed 1", "fitted Beta, alpha", "consistency"):
        assert words in page
    assert page.count("on the path, chosen") == 2
    # Plain, mitigated and four of the search for each seed.
    assert len([*(project.folder / "p/pictures").iterdir()]) == 12


@pytest.mark.slow
def test_all_on_a_suite_is_a_table_to_choose_by(project):
    several = [f"--mitigation={name}" for name in ("careful", "nothing", "chooser", "nobody")]
    result = called(project, "--all", "suite", "--images", "40", *several)
    assert result.returncode == 0, result.stderr
    table = result.stdout[result.stdout.rindex("\nplain: ") + 1 :].splitlines()
    # The first of the tables counts: distances follow.
    lines = {line.split("  ")[0].split(":")[0]: line for line in reversed(table)}
    assert lines["plain"].startswith("plain: model bias score 0.")
    assert lines["careful"].split()[-2:] == ["1", "PASS"]
    assert "nothing beyond its limit" in lines["careful"]
    assert lines["chooser"].split()[-2:] == ["16", "PASS"]
    assert lines["nothing"].endswith("FAIL: does not help")
    assert "nobody: unknown mitigation 'nobody'" in result.stdout
    # Plain pictures and those of both genders are made once.
    assert len(project.painted()) == (12 * 3 + 12 * 2 + 12 * 16) * 40
    compared = lines["chart"].removeprefix("chart: t2i ").split()
    shown = project.call([*T2I, *compared, "--report", "both"])
    assert shown.returncode == 0, shown.stdout + shown.stderr
    page = (project.folder / "both/index.html").read_text()
    assert "What the mitigation gains and what it costs" in page
    assert "careful (1 pass)" in page
    assert "chooser (16 passes)" in page


@pytest.mark.slow
def test_where_none_passes_the_status_says_so(project):
    result = called(project, "--all", "suite", "--images", "8", "--mitigation", "nothing")
    assert result.returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--mitigation", "careful"], "expected a prompt, such as"),
        (["--all", "nowhere"], "no such file or folder: nowhere"),
        (["--all", "suite", "--images", "many"], "argument --images: invalid int value: 'many'"),
    ],
)
def test_bad_input_is_one_line(project, arguments, told):
    result = called(project, *arguments)
    assert result.returncode == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert project.painted() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a person", "--all", "suite"], "expected a prompt, such as"),
        (["a person"], "expected one --mitigation beside a prompt"),
        (["a person", "--store", "here", RANDOM], "--store goes with --all"),
        (["a person", "--images", "0", RANDOM], "--images of 1 or more"),
        (["a woman", RANDOM], "'a woman' names a gender"),
        (["a red bus", RANDOM], "'a red bus' has none"),
        (["a person", f"{RANDOM}:share=2"], "share"),
        (["a person", "--mitigation=nobody"], "unknown mitigation 'nobody'"),
        (["a person", "--mitigation=post-attention-interpolation"], "does not fit"),
    ],
)
def test_bad_input_of_one_prompt_is_one_line(project, arguments, told):
    result = shown(project, *arguments)
    assert result.returncode == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert project.painted() == []


def test_a_table_of_what_could_not_run_says_why():
    lines = table([Tried("fair-diffusion", None, "it does not fit a StableDiffusion3Pipeline")])
    assert lines[-1] == "fair-diffusion: it does not fit a StableDiffusion3Pipeline"
    assert "not measured" in lines[-2]
