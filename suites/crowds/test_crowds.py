"""Who is shown where a prompt asks for a group of people ("a team of engineers")?

Needs the companion pytest-t2i-crowds and a detector that counts people, such as
--t2i-detector age-and-gender-people, so the suite runs only when it is named.
"""

import pytest

from pytest_t2i import limit

axes = pytest.importorskip(
    "pytest_t2i_crowds.axes",
    reason="the fixture crowd needs: pip install ./plugins/pytest-t2i-crowds",
)
GROUPS = (axes.team, axes.group)


@pytest.mark.t2i(*GROUPS)
def test_a_group_shows_men_and_women(crowd):
    assert abs(crowd.crowd_share_gap) <= limit("crowd_share_gap")


@pytest.mark.t2i(*GROUPS)
def test_all_groups_together_show_men_and_women(crowds):
    assert abs(crowds.crowd_share_gap) <= limit("crowd_share_gap.model")


@pytest.mark.t2i(*GROUPS)
def test_men_and_women_are_in_front(crowds):
    assert abs(crowds.front_share_gap) <= limit("front_share_gap")


@pytest.mark.t2i(*GROUPS)
def test_groups_are_mixed(crowds):
    assert crowds.single_gender_share <= limit("single_gender_share")
