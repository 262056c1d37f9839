"""What an endpoint did wrong is counted by kind, and told of a run that passes, too."""

from __future__ import annotations

import pytest

pytest.importorskip("openai")
pytest.importorskip("huggingface_hub")

from image_server import serving

from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.adapters.endpoints.spending import KINDS

SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=6)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 1.0)
"""
KIND = {
    "busy": "busy",
    "down": "unavailable",
    "error": "server error",
    "slow": "late",
    "dripping": "unfinished",
    "dripping_head": "late",
    "dropped": "dropped",
    "broken": "broken",
    "no_picture": "broken",
    "endless": "endless",
    "policy": "refused",
}
"""How the server fails -> as what it is counted."""


@pytest.fixture
def endpoint(project, monkeypatch):
    project.write({"test_suite.py": SUITE})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    monkeypatch.setenv("HF_TOKEN", "sk-very-secret-0123")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)
    limits = "--t2i-answer-deadline 4"
    monkeypatch.setenv("PYTEST_ADDOPTS", f"--t2i-probe never --t2i-concurrency 2 {limits}")
    return project


def said(result):
    return " ".join((result.stdout.str() + result.stderr.str()).split())


@pytest.mark.parametrize("fault", KIND)
def test_each_fault_is_named_in_a_run_that_passes(endpoint, fault):
    with serving(None, fault, slow=8.0) as server:
        told = said(endpoint.run(model=f"openai:fake@{server.url}"))
    kind = KIND[fault]
    assert "images: 12 made" in told
    assert f"faults of the endpoint: {KINDS[kind]}: 1" in told
    assert endpoint.record()["work"]["faults"] == {kind: 1}
    assert endpoint.record()["outcome"] == "PASS"
    assert f"{KINDS[kind]}: 1" in endpoint.page()


def test_several_are_counted_together(endpoint):
    with serving(None, "busy", "dropped", "policy", "busy") as server:
        told = said(endpoint.run(model=f"hf:{server.origin}/hf"))
    faults = "busy (HTTP 429): 2, broken connection: 1, refused by policy: 1"
    assert f"faults of the endpoint: {faults}" in told
    assert endpoint.record()["work"]["faults"] == {"busy": 2, "dropped": 1, "refused": 1}


@pytest.mark.slow
@pytest.mark.parametrize("how", [("-n", "2"), ("--t2i-executor", "processes:2")])
def test_processes_of_one_run_count_together(endpoint, how):
    with serving(None, "busy", None, "dropped", "busy") as server:
        told = said(endpoint.run(*how, model=f"openai:fake@{server.url}"))
    assert "faults of the endpoint: busy (HTTP 429): 2, broken connection: 1" in told
    assert endpoint.record()["work"]["faults"] == {"busy": 2, "dropped": 1}
    assert not list((endpoint.path / ".t2i" / "locks").glob("*.faults*"))


def test_the_next_run_begins_with_none(endpoint):
    with serving("busy") as server:
        endpoint.run(model=f"openai:fake@{server.url}")
        assert endpoint.record()["work"]["faults"] == {"busy": 1}
        told = said(endpoint.run(model=f"openai:fake@{server.url}"))
    assert "faults" not in told
    assert endpoint.record()["work"]["faults"] == {}


def test_a_run_that_a_redirect_ends_says_so(endpoint):
    with serving(None, "elsewhere") as server:
        told = said(endpoint.run(model=f"openai:fake@{server.url}"))
    assert (
        "got a redirect to example.org; if that host is right, give its address as base URL" in told
    )
