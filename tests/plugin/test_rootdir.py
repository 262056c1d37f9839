"""The value of an option of ours never decides pytest's rootdir, nor which settings it reads."""

from __future__ import annotations

import pytest

from pytest_t2i.plugin.exit_status import INCONCLUSIVE_STATUS

INI = "[pytest]\nt2i_images = 7\n"


@pytest.fixture
def elsewhere(tmp_path):
    """A folder that shares no project with the tests."""
    folder = tmp_path / "elsewhere/store"
    folder.mkdir(parents=True)
    return folder


def run(project, *arguments):
    return project.run_plainly("-v", "--t2i-model", "fair", "--t2i-detector", "colour", *arguments)


@pytest.mark.parametrize("tests", [(), ("test_suite.py",)])
def test_a_store_elsewhere_leaves_rootdir_where_the_tests_are(project, elsewhere, tests):
    result = run(project, "--t2i-store", str(elsewhere), *tests, "-k", "nurse")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"rootdir: {project.path}"])
    result.stdout.fnmatch_lines(["test_suite.py::test_prompt*profession-nurse*PASSED*"])
    assert list(elsewhere.glob("images/*/*.png"))
    assert (project.path / ".pytest_cache").exists()
    assert not (elsewhere / ".pytest_cache").exists()


def test_the_settings_of_the_project_are_not_lost_silently(project, elsewhere):
    (project.path / "pytest.ini").write_text(INI)
    result = run(project, "--t2i-store", str(elsewhere), "-k", "nurse")
    assert result.ret == 4
    told = " ".join(result.stderr.str().split())
    assert f"takes {elsewhere}, the value of --t2i-store, for a path of tests" in told
    assert f"reads no settings instead of {project.path / 'pytest.ini'}" in told
    assert f"Write it with an equals sign: --t2i-store={elsewhere}" in told
    assert project.made() == []


def test_settings_beside_the_store_are_not_taken(project, elsewhere):
    (elsewhere.parent / "pytest.ini").write_text(INI)
    result = run(project, "--t2i-store", str(elsewhere), "-k", "nurse")
    assert result.ret == 4
    assert f"reads {elsewhere.parent / 'pytest.ini'} instead of none" in result.stderr.str()


@pytest.mark.parametrize("way", ["equals", "tests named", "within"])
def test_what_does_no_harm_goes_on(project, elsewhere, way):
    (project.path / "pytest.ini").write_text(INI)
    within = project.path / "kept"
    within.mkdir()
    arguments = {
        "equals": (f"--t2i-store={elsewhere}",),
        "tests named": ("--t2i-store", str(elsewhere), "test_suite.py"),
        "within": ("--t2i-store", str(within)),
    }[way]
    assert run(project, *arguments, "-k", "test_prompt and nurse").ret == INCONCLUSIVE_STATUS
    assert project.record()["settings"]["images"] == 7
    assert len(project.made()) == 7


@pytest.mark.parametrize("option", ["--t2i-labels", "--t2i-model"])
def test_it_holds_for_every_option_that_takes_a_path(project, elsewhere, option):
    (project.path / "pytest.ini").write_text(INI)
    result = run(project, option, str(elsewhere))
    assert result.ret == 4
    assert f"{option}={elsewhere}" in result.stderr.str()


def test_a_rootdir_that_is_named_stays(project, elsewhere):
    result = run(
        project, f"--rootdir={elsewhere.parent}", "--t2i-store", str(elsewhere), "-k", "nurse"
    )
    result.stdout.fnmatch_lines([f"rootdir: {elsewhere.parent}"])
