"""A processor that cannot compute in the number format asked for says so."""

from __future__ import annotations

import signal
import subprocess

import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")

from pytest_t2i.adapters.models import pipelines
from pytest_t2i.adapters.models.pipelines import check_processor
from pytest_t2i.errors import ConfigurationError

CPU = torch.device("cpu")


@pytest.fixture
def trials(monkeypatch):
    """Ends of the trials to come, and those that were made; AMX is announced."""
    ends, made = [0], []

    def run(command, **_):
        made.append(command)
        return subprocess.CompletedProcess(command, ends[-1])

    monkeypatch.setattr(pipelines, "_announces_amx", lambda: True)
    monkeypatch.setattr(pipelines.subprocess, "run", run)
    pipelines._survives.cache_clear()
    yield ends, made
    pipelines._survives.cache_clear()


def test_a_processor_that_stops_is_told_of_before_anything_is_made(trials):
    trials[0].append(-signal.SIGILL)
    with pytest.raises(ConfigurationError, match="DNNL_MAX_CPU_ISA=AVX512_CORE_FP16"):
        check_processor(CPU, torch.bfloat16)


def test_a_processor_that_goes_on_is_tried_once(trials):
    check_processor(CPU, torch.bfloat16)
    check_processor(CPU, torch.bfloat16)
    assert len(trials[1]) == 1


@pytest.mark.parametrize(
    ("device", "dtype"), [("cpu", torch.float32), ("cuda", torch.bfloat16), ("cpu", torch.float16)]
)
def test_nothing_is_tried_where_amx_plays_no_part(trials, device, dtype):
    check_processor(torch.device(device), dtype)
    assert not trials[1]


def test_the_trial_computes_where_amx_is_left_alone():
    """The tests' own environment does without AMX, so that machines which stop at it run them."""
    assert pipelines._survives()
