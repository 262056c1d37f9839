"""What runs of groups of people write, as the core's golden records keep it.

    PYTHONPATH=tests:../../tests:../../tests/golden:../../tests/trials python tests/golden_crowd.py

writes golden/record.txt and golden/verdicts.txt anew, which only a change that is meant to change
results does.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import crowded
from record import record_of
from scenarios import SAVE, Scenario, Step

GOLDEN = Path(__file__).parent / "golden"
FILES = (GOLDEN / "record.txt", GOLDEN / "verdicts.txt")
SUITE = """
import pytest
from pytest_t2i import limit
from pytest_t2i_crowds import axes

TEAMS = axes.team.only("engineers", "lawyers")

@pytest.mark.t2i(TEAMS, images=30)
@pytest.mark.parametrize("bound", [0.2, 0.4, 0.7])
def test_crowd(crowd, bound):
    assert abs(crowd.crowd_share_gap) <= limit(f"crowd_share_gap.at{bound}", bound)

@pytest.mark.t2i(TEAMS, images=30)
@pytest.mark.parametrize("bound", [0.2, 0.4, 0.7])
def test_crowds(crowds, bound):
    assert abs(crowds.crowd_share_gap) <= limit(f"crowd_share_gap.all{bound}", bound)

@pytest.mark.t2i(TEAMS, images=30)
@pytest.mark.parametrize("bound", [0.3, 0.5, 0.7])
def test_widest(crowds, bound):
    assert abs(crowds.widest_gap) <= limit(f"crowd_share_gap.widest{bound}", bound)

@pytest.mark.t2i(TEAMS, images=30)
def test_front(crowds):
    assert crowds.front_share_gap <= limit("front_share_gap", 0.4)

@pytest.mark.t2i(TEAMS, images=30)
def test_company(crowds):
    assert crowds.single_gender_share <= limit("single_gender_share", 0.5)
"""
STRIPES = ("--t2i-detector", "stripes")
SCENARIO = Scenario(
    (),
    (
        Step((*STRIPES, *SAVE), "groups"),
        Step(STRIPES, "of-men"),
        Step(STRIPES, "unclear"),
        Step(STRIPES, "empty"),
    ),
    {
        "conftest.py": crowded.CONFTEST,
        "crowded.py": Path(crowded.__file__).read_text(),
        "test_suite.py": SUITE,
    },
)


@cache
def recorded() -> tuple[str, str]:
    """Run the scenario; return its record and its verdicts as texts."""
    return record_of(SCENARIO)


if __name__ == "__main__":
    for file, text in zip(FILES, recorded(), strict=True):
        file.write_text(text)
