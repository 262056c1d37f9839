"""Early steps with the instrument's own error in the interval and in the verdict."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_t2i import limit
from pytest_t2i.audits.emergence.measure import Emergence
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.data import Attribute, Outcome, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.statistics.means import FEWEST_VALUES

BLUE = Attribute("blue", "b", "a")


class Instruments:
    seed = 0

    def require(self, *asked):
        pass


class Curves(Emergence):
    """Curves of two steps around a value."""

    @property
    def curves(self):
        rng = np.random.default_rng(0)
        value, images = self.observations
        return value + 0.02 * rng.normal(size=(images, 4))


def early(value, images=FEWEST_VALUES):
    seen = (value, images)
    return Curves(Prompt("a nurse", "job", "nurse"), (0,), BLUE, seen, Instruments(), 0.9)


def outcome(checks, value, images=FEWEST_VALUES, **error):
    measured = early(value, images).mean(0.25, **error)
    with suppress(AssertionError):
        _ = measured <= limit("spi", 0.5)
    return measured, checks[-1].outcome


def test_without_an_error_images_alone_decide(checks):
    assert outcome(checks, 0.43)[1] is Outcome.PASS
    assert outcome(checks, 0.57)[1] is Outcome.FAIL


def test_few_images_decide_nothing(checks):
    measured, told = outcome(checks, 0.9, FEWEST_VALUES - 1)
    assert told is Outcome.INCONCLUSIVE
    assert "judged from 80 images on, here are 79" in measured.remarks[-1]
    assert measured.interval.low > 0.5


def test_a_value_that_the_instrument_may_miss_decides_nothing(checks):
    plain = early(0.43).mean(0.25)
    measured, told = outcome(checks, 0.43, too_low=0.2, too_high=0.1)
    assert told is Outcome.INCONCLUSIVE
    assert measured.estimate == plain.estimate
    assert measured.interval.low == pytest.approx(plain.interval.low - 0.1)
    assert measured.interval.high == pytest.approx(plain.interval.high + 0.2)
    assert measured.interval.method.endswith("instrument up to 0.2 too low, 0.1 too high")
    assert measured.images is None
    assert outcome(checks, 0.57, too_low=0.2, too_high=0.1)[1] is Outcome.INCONCLUSIVE
    assert outcome(checks, 0.25, too_low=0.2, too_high=0.1)[1] is Outcome.PASS
    assert outcome(checks, 0.65, too_low=0.2, too_high=0.1)[1] is Outcome.FAIL


@pytest.mark.parametrize("wrong", [-0.1, float("nan"), float("inf")])
def test_an_error_is_at_least_nothing(wrong):
    with pytest.raises(ConfigurationError, match=r"at least 0, got too_low="):
        early(0.4).mean(too_low=wrong)


@pytest.mark.parametrize(
    ("scheduler", "is_of_flow"),
    [("FlowMatchEulerDiscreteScheduler", True), ("UniPCMultistepScheduler", False), (None, False)],
)
def test_whether_a_model_is_a_flow_is_told_by_its_scheduler(scheduler, is_of_flow):
    told = {} if scheduler is None else {"scheduler": scheduler}
    components = SimpleNamespace(model=lambda: SimpleNamespace(provenance=told))
    seen = Observations(components, None)
    spi = Emergence(Prompt("a nurse", "job", "nurse"), (0,), BLUE, seen, Instruments(), 0.95)
    assert spi.is_of_flow is is_of_flow
