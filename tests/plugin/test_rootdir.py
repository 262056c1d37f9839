"""The value of an option of ours never decides pytest's rootdir, nor which settings it reads."""

from __future__ import annotations

import pytest

from pytest_t2i.option_names import OPTIONS
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


@pytest.fixture
def settings(project):
    """A project's settings, of which pytest reads some before it knows our options."""
    (project.path / "pytest.ini").write_text(f"{INI}addopts = -q -k nurse\npythonpath = lib\n")
    project.write({"lib/of_lib.py": "", "test_of_lib.py": "import of_lib\n"})
    return project


def test_the_settings_of_the_project_are_read_once_the_store_is_there(settings, elsewhere):
    assert run(settings, "--t2i-store", str(elsewhere)).ret == INCONCLUSIVE_STATUS
    assert settings.record()["settings"]["images"] == 7
    assert len(settings.made()) == 7


def test_settings_beside_the_store_are_not_taken(project, elsewhere):
    (elsewhere.parent / "pytest.ini").write_text(f"{INI}addopts = -k nobody\n")
    result = run(project, "--t2i-store", str(elsewhere), "-k", "test_prompt and nurse")
    assert result.ret == 0
    assert len(project.made()) == 20


def parsed(pytester, *arguments):
    """What decides a run: rootdir, settings and the arguments of tests."""
    config = pytester.parseconfig(*arguments)
    named = config.known_args_namespace.confcutdir
    keys = ("addopts", "t2i_images", "pythonpath")
    read = [config.getini(key) for key in keys]
    return config.rootpath, config.inipath, read, config.option.keyword, named, config.args


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_a_value_that_is_a_path_changes_nothing_for_any_option(
    pytester, settings, elsewhere, option
):
    if option.is_switch:
        assert parsed(pytester, option.flag) == parsed(pytester)
        return
    # Beside the path lie settings of another project.
    (elsewhere.parent / "pytest.ini").write_text("[pytest]\naddopts = -x\n")
    expected = parsed(pytester, f"{option.flag}=nowhere")
    assert expected[:2] == (settings.path, settings.path / "pytest.ini")
    assert expected[3] == "nurse"
    for arguments in ((option.flag, str(elsewhere)), (f"{option.flag}={elsewhere}",)):
        assert parsed(pytester, *arguments) == expected
    (settings.path / "pytest.ini").write_text(
        f"{INI}addopts = -q -k nurse {option.flag} {elsewhere}\npythonpath = lib\n"
    )
    rootdir, ini, _, *others = parsed(pytester)
    assert (rootdir, ini, *others) == (*expected[:2], *expected[3:])


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


def test_a_rootdir_that_is_named_stays(project, elsewhere):
    result = run(
        project, f"--rootdir={elsewhere.parent}", "--t2i-store", str(elsewhere), "-k", "nurse"
    )
    result.stdout.fnmatch_lines([f"rootdir: {elsewhere.parent}"])
