"""Indices of groups: judged, held against a baseline, recorded, drawn and framed, all alike."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from unit.audits.seen import aged, recorded

from pytest_t2i import limit
from pytest_t2i.audits.parity.indices import INDICES
from pytest_t2i.audits.parity.record import GroupsRecord, ParityPart
from pytest_t2i.audits.parity.recording_groups import recorded_groups
from pytest_t2i.audits.parity.report_groups import groups_frames, groups_section
from pytest_t2i.data import Outcome
from pytest_t2i.metrics import INFO
from pytest_t2i.sections import BarChart

EVEN, SKEWED = "yao" * 16, "y" * 46 + "ao"
WITHIN = {"group_gap": 0.6, "group_entropy": 0.7, "group_diversity": 0.4}
"""Limit that even groups keep and skewed ones break."""


def compared(measured, bound):
    if measured.metric.worse == "lower":
        return measured >= bound
    return measured <= bound


def record_of(made):
    context = SimpleNamespace(detectors=["ages"], observations=made.members[0].observations)
    (groups,) = recorded_groups(context, lambda detector: made)
    return groups


def test_every_index_is_tried_here():
    assert set(WITHIN) == set(INDICES)


@pytest.mark.parametrize("name", INDICES)
def test_an_index_is_judged(checks, name):
    even, skewed = aged({"even": EVEN, "skewed": SKEWED})
    assert compared(getattr(even, name), limit(name, WITHIN[name]))
    assert not compared(getattr(skewed, name), limit(name, WITHIN[name]))
    assert [check.outcome for check in checks] == [Outcome.PASS, Outcome.FAIL]


@pytest.mark.parametrize("name", INDICES)
def test_an_index_is_held_against_a_baseline(name):
    assert INFO[name].in_baselines

    def change(now, before, model="model-2"):
        made = aged({"p": now}, model).members[0]
        return getattr(made, name).change(recorded({"p": before}), None, 0.95)

    worse = change(SKEWED, EVEN)
    assert worse.verdict.outcome is Outcome.FAIL
    assert worse.interval.low > 0.1
    assert change(EVEN, SKEWED).verdict.outcome is Outcome.PASS
    assert change(EVEN, EVEN, "model-1").decided_by == "identical pictures"
    assert change("---", EVEN).interval is None


def test_one_image_shows_no_diversity():
    one = aged({"one": "y--"}).members[0].group_diversity
    assert one.interval is None
    assert one.absent == "only 1 of 3 images have a label: 2 no_face"


def test_the_error_level_is_shared_against_a_baseline():
    now = {f"p{k}": EVEN for k in range(20)} | {"moved": "y" * 30 + "a" * 10 + "o" * 8}
    before = recorded(dict.fromkeys(now, EVEN))
    alone = aged({"moved": now["moved"]}, "model-2").members[0]
    together = aged(now, "model-2").members[-1]
    for name in INDICES:
        single, shared = (
            getattr(one, name).change(before, 0.0, 0.95).verdict.p_value
            for one in (alone, together)
        )
        assert shared > single


def test_an_index_is_recorded_drawn_and_framed(checks):
    made = aged({"even": EVEN, "skewed": SKEWED, "none": "---"})
    for sample in made:
        compared(sample.group_entropy, limit("group_entropy", 0.01))
    groups = record_of(made)
    assert isinstance(groups, GroupsRecord)
    kept = {prompt.id: prompt.indices for prompt in groups.prompts}
    assert kept["job-skewed"]["group_entropy"] == made.members[1].group_entropy.interval
    assert kept["job-none"] == dict.fromkeys(INDICES)
    charts = [b for b in groups_section(groups, checks).blocks if isinstance(b, BarChart)]
    (chart,) = (chart for chart in charts if chart.title.startswith("Group entropy"))
    assert [bar.name for bar in chart.bars] == ["job-skewed", "job-even", "job-none"]
    frame = groups_frames(ParityPart(groups=(groups,)))["group_indices"]
    rows = {(row[0], row[2]): row[3] for row in frame.rows}
    assert rows["job-even", "group_gap"] == made.members[0].group_gap.interval
    assert len(rows) == 3 * len(INDICES)


def test_the_worst_prompt_stands_first_whichever_direction_is_worse(checks):
    made = aged({"even": EVEN, "skewed": SKEWED})
    for sample in made:
        compared(sample.group_gap, limit("group_gap", 0.99))
    groups = record_of(made)
    (chart,) = (
        block
        for block in groups_section(groups, checks).blocks
        if isinstance(block, BarChart) and block.title.startswith("Group gap")
    )
    assert [bar.name for bar in chart.bars] == ["job-skewed", "job-even"]


def test_a_record_with_an_index_that_is_unknown_here_can_be_shown(checks):
    groups = record_of(aged({"even": EVEN}))
    checks.append(SimpleNamespace(metric="theirs", subject="job-even"))
    object.__setattr__(groups.prompts[0], "indices", {"theirs": None})
    assert groups_section(groups, checks[:-1]).blocks
