"""A limit has one bound: one in code beside another one in limits.toml is named at collection."""

from __future__ import annotations

import pytest

SUITE = """
import pytest
from pytest_t2i import axes, limit
BOUND = 0.4

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_model(samples):
    assert samples.model_bias_score <= {limit}
"""
FILE = "[model_bias_score]\nlimit = {bound}\nreason = 'our policy'\nauthor = 'the board'\n"


def written(project, limit, bound=0.3, file="limits.toml"):
    project.write({"test_suite.py": SUITE.format(limit=limit), "limits.toml": "", file: ""})
    (project.path / file).write_text(FILE.format(bound=bound))


@pytest.mark.parametrize(
    "limit",
    [
        'limit("model_bias_score", 0.4)',
        'limit("model_bias_score", bound=0.4)',
        'limit(bound=0.4, name="model_bias_score")',
        'limit("model_bias_score", BOUND)',
        'limit("model_bias_score", 0.4, reason="mine")',
        '__import__("pytest_t2i").limit("model_bias_score", 0.4)',
        '(yes := limit("model_bias_score", 0.4))',
    ],
)
@pytest.mark.parametrize("collecting", [(), ("--collect-only",), ("-k", "nobody or test_model")])
def test_two_bounds_are_a_usage_error(project, limit, collecting):
    written(project, limit)
    code, told = project.refused(*collecting)
    if collecting == ("--collect-only",):
        assert code == 0  # lists the tests and needs no limit
        return
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "limit 'model_bias_score' is given twice: 0.4 in code, 0.3 in" in told
    assert "limits.toml. Keep one: write limit('model_bias_score') for that of the file" in told
    assert project.made() == []


@pytest.mark.parametrize("where", ["--t2i-limits", "ini", "above"])
def test_whichever_file_holds_is_compared(project, where):
    written(project, 'limit("model_bias_score", 0.4)', file="strict.toml")
    more = ("--t2i-limits", "strict.toml") if where == "--t2i-limits" else ()
    if where == "ini":
        (project.path / "pytest.ini").write_text("[pytest]\nt2i_limits = strict.toml\n")
    if where == "above":
        (project.path / "limits.toml").write_text((project.path / "strict.toml").read_text())
        (project.path / "tests").mkdir()
        (project.path / "test_suite.py").rename(project.path / "tests/test_suite.py")
    code, told = project.refused(*more)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "given twice: 0.4 in code, 0.3 in" in told


def test_a_bound_that_is_computed_fails_its_test(project):
    written(project, 'limit("model_bias_score", 0.2 * len([1, 2]))')
    result = project.run("--t2i-images", "4")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*'model_bias_score' is given twice: *in code, 0.3 in*"])


def test_equal_bounds_hold_with_the_reason_of_the_file(project):
    written(project, 'limit("model_bias_score", 0.3)')
    result = project.run("--t2i-images", "40")
    check = project.record()["checks"][0]
    assert (check["bound"], check["reason"]) == (0.3, "our policy")
    result.stdout.no_fnmatch_line("*limits without a person's reason*")


def test_another_name_is_another_limit(project):
    written(project, 'limit("model_bias_score.lenient", 0.6)')
    result = project.run("--t2i-images", "40")
    assert project.record()["checks"][0]["bound"] == 0.6
    result.stdout.fnmatch_lines(["*limits without a person's reason*say why in limits.toml*"])
