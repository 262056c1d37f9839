"""t2i mitigate: the table of a suite."""

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


@pytest.mark.slow
def test_all_on_a_suite_is_a_table_to_choose_by(project):
    several = [f"--mitigation={name}" for name in ("careful", "nothing", "chooser", "nobody")]
    result = called(project, "--all", "suite", "--images", "40", *several)
    assert result.returncode == 0, result.stderr
    lines = {line.split("  ")[0].split(":")[0]: line for line in result.stdout.splitlines()[-8:]}
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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--mitigation", "careful"], "required: --all"),
        (["--all", "nowhere"], "there is no nowhere"),
        (["--all", "suite", "--images", "many"], "argument --images: invalid int value: 'many'"),
    ],
)
def test_bad_input_is_one_line(project, arguments, told):
    result = called(project, *arguments)
    assert result.returncode == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert project.painted() == []


def test_a_table_of_what_could_not_run_says_why():
    lines = table([Tried("uce", None, "it does not fit a StableDiffusion3Pipeline")])
    assert lines[-1] == "uce: it does not fit a StableDiffusion3Pipeline"
    assert "not measured" in lines[-2]
