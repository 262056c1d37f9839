"""An audit from a script comes to the same numbers and verdicts as a run of pytest."""

from __future__ import annotations

import fakes
import pytest

from pytest_t2i import Stereotype, audit, axes
from pytest_t2i.data import Attribute
from pytest_t2i.protocols import LoadOptions

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")


KEPT = ("metric", "subject", "estimate", "low", "high", "level", "n", "p_value", "outcome")


def named(check):
    plain = {name: getattr(check, name) for name in KEPT}
    return plain | {"outcome": str(check.outcome)}


def recorded(folder, metric):
    checks = folder.record()["checks"]
    return [{name: c[name] for name in KEPT} for c in checks if c["metric"] == metric]


class Colour(fakes.FakeDetector):
    """The detector that the project of these tests calls "colour"."""


@pytest.fixture
def audited(tmp_path):
    def run(*selected, **options):
        model = fakes.biased(LoadOptions())
        given = {"progress": False, "store": tmp_path / "store"} | options
        return audit(model, *selected, detector=Colour(), **given)

    return run


def test_prompts_come_to_the_same(biased, audited):
    checks = audited(PEOPLE).verdicts("prompt_bias_score", 0.6)
    assert [named(check) for check in checks.values()] == recorded(biased, "prompt_bias_score")


def test_the_model_comes_to_the_same(biased, audited):
    check = audited(PEOPLE, axes.place.only("gym", "mall")).verdict("model_bias_score", 0.3)
    assert [named(check)] == recorded(biased, "model_bias_score")


def test_other_audits_are_asked_by_name(audited):
    hat = Attribute("hat", "a man with a hat", "a man")
    result = audited(
        Stereotype(PEOPLE.prompts()[0], hat, 0.2, "made up"), audits=("stereotypes",), images=6
    )
    assert result.stereotypes[0].stereotype_score.interval is not None
    checks = result.verdicts("stereotype_score", 0.9)
    assert [check.metric for check in checks.values()] == ["stereotype_score"]
