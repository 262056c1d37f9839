"""The audit as a user meets it: what is skipped, said, made once, kept and shown."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from painted_project import PaintedProject, outcomes

FEW = ("--t2i-images", "8")


@pytest.fixture
def project(tmp_path):
    return PaintedProject(tmp_path)


@pytest.mark.slow
def test_without_a_mitigation_it_is_skipped_and_makes_nothing(project):
    result = project.run("-rs")
    assert result.returncode == 0
    assert "9 skipped" in result.stdout
    assert "t2i: no mitigation is named; run with --t2i-mitigation NAME" in result.stdout
    assert project.painted() == []


ABSENT = """
import importlib.metadata as installed
import sys

every = installed.distributions
others = lambda **how: (d for d in every(**how) if d.metadata["Name"] != "pytest-t2i-mitigation")
installed.distributions = others
sys.modules["pytest_t2i_mitigation"] = None
"""


@pytest.mark.slow
def test_without_the_companion_it_is_skipped_with_one_line(project):
    (project.folder / "absent.py").write_text(ABSENT)
    result = project.run("-p", "absent", "-rs")
    assert "1 skipped" in result.stdout
    assert "this suite needs: pip install ./plugins/pytest-t2i-mitigation" in result.stdout
    assert project.painted() == []


@pytest.mark.slow
def test_plain_pictures_of_another_run_are_not_made_again(project):
    project.run(*FEW, "--t2i-mitigation", "careful")
    assert len(project.painted()) == 12 * 4 * 8
    project.run(*FEW, "--t2i-mitigation", "nothing")
    assert len(project.painted()) == 12 * 5 * 8


@pytest.mark.slow
def test_a_store_filled_without_a_mitigation_gives_the_plain_pictures(project):
    suite = project.folder / "suite" / "test_mitigation.py"
    text = suite.read_text()
    plain = "\n\n@mitigates\ndef test_plain(triplets):\n    assert len(triplets) == 12\n"
    suite.write_text(text + plain)
    project.run(*FEW, "-k", "test_plain")
    assert len(project.painted()) == 12 * 3 * 8
    project.run(*FEW, "-k", "not test_plain", "--t2i-mitigation", "careful")
    assert len(project.painted()) == 12 * 4 * 8


@pytest.mark.slow
def test_too_few_images_for_prompts_that_turn_over_are_said_before(project):
    result = project.run(*FEW, "--t2i-mitigation", "careful", "-k", "turns_over")
    assert result.returncode == 6
    assert "with 8 images, 12 prompts that came out even would stay inconclusive" in result.stdout
    assert "take --t2i-images 36 or more" in result.stdout


@pytest.mark.slow
def test_a_second_detector_is_the_second_judge(project):
    conftest = project.folder / "conftest.py"
    text = conftest.read_text()
    line = '"colours": lambda options: painting.Colours()'
    conftest.write_text(text.replace(line, f'{line}, "others": lambda options: painting.Colours()'))
    project.run(
        *FEW, "--t2i-mitigation", "fooling", "--t2i-detector", "colours,others", "-k", "second"
    )
    (check,) = project.record()["checks"]
    assert check["subject"] == "model by others"
    assert check["outcome"] != "FAIL"


@pytest.mark.slow
def test_a_mark_may_name_the_second_judge(project):
    suite = project.folder / "suite" / "test_mitigation.py"
    text = suite.read_text()
    named = text.replace("images=IMAGES", "images=IMAGES, second_judge='colours'")
    suite.write_text(named)
    project.run(*FEW, "--t2i-mitigation", "nothing", "-k", "second")
    (check,) = project.record()["checks"]
    assert check["subject"] == "model by colours"


@pytest.mark.slow
def test_one_prompt_alone_leaves_open_what_needs_others(project):
    suite = project.folder / "suite" / "test_mitigation.py"
    lines = suite.read_text().splitlines()
    kept = [line for line in lines if "axes.place" not in line and "axes.object" not in line]
    text = "\n".join(kept).replace('"engineer", "pilot", "nurse", "housekeeper"', '"pilot"')
    suite.write_text(text + "\n")
    project.run(*FEW, "--t2i-mitigation", "careful")
    reached = outcomes(project.record())
    assert reached["content_loss"] == reached["alignment_loss"] == "INCONCLUSIVE"
    messages = {check["metric"]: check["message"] for check in project.record()["checks"]}
    assert "one prompt alone" in messages["alignment_loss"]


@pytest.mark.slow
def test_workers_make_nothing_twice_and_keep_one_record(project):
    result = project.run("--t2i-images", "40", "--t2i-mitigation", "careful", "-n", "2")
    assert result.returncode == 0, result.stdout
    painted = project.painted()
    assert len(painted) == 12 * 4 * 40
    apart = project.record()["audits"]["mitigated"]
    project.run("--t2i-images", "40", "--t2i-mitigation", "careful")
    assert project.painted() == painted
    assert project.record()["audits"]["mitigated"] == apart


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(project):
    batch = 4
    arguments = ("--t2i-images", "40", "--t2i-mitigation", "careful", "--t2i-batch", str(batch))
    painting = project.folder / "painting.py"
    slow = "            print(seed, text, file=log)\n"
    text = painting.read_text()
    painting.write_text(text.replace(slow, f"{slow}        __import__('time').sleep(0.01)\n"))
    running = subprocess.Popen(
        project.command(*arguments),
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while len(project.painted()) < 200 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert 200 <= len(project.painted()) < 1900
    painting.write_text(text)
    project.run(*arguments)
    assert 1920 <= len(project.painted()) <= 1920 + batch
