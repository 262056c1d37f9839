"""The report names who changed which limit, when, from what and to what."""

from __future__ import annotations

import subprocess
from html import unescape

SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")
"""


def git(folder, *words, author="Ann & Bo"):
    names = ("-c", f"user.name={author}", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def test_changes_of_limits_are_in_record_page_and_summary(project):
    project.write({"test_suite.py": SUITE, "limits.toml": "[model_bias_score]\nlimit = 0.2\n"})
    git(project.path, "init", "-q")
    git(project.path, "add", "limits.toml", "test_suite.py")
    git(project.path, "commit", "-q", "-m", "first")
    project.run("--t2i-images", "4")
    assert "limits changed" not in project.record()["provenance"]
    project.write({"limits.toml": "[model_bias_score]\nlimit = 0.9\n"})
    git(project.path, "commit", "-q", "-a", "-m", "more", "--date=2026-11-20T10:00:00Z")
    project.write({"limits.toml": "[model_bias_score]\nlimit = 0.95\n"})
    project.run("--t2i-images", "4")
    found = project.record()["provenance"]["limits changed"]
    assert found == [
        "model_bias_score 0.9 -> 0.95 not committed",
        "model_bias_score 0.2 -> 0.9 by Ann & Bo, 2026-11-20",
    ]
    page = project.page()
    assert found[1] in unescape(page)
    assert "Ann &amp; Bo, 2026" in page
    summary = (project.path / "reports/t2i/summary.md").read_text()
    assert "Limits changed: " in summary
