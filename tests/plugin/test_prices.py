"""What a run on an endpoint costs: said before, never more than the budget, told at the end."""

from __future__ import annotations

import pytest

pytest.importorskip("openai")

from image_server import serving

SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=6)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 1.0)
"""
PRICE = ("--t2i-price", "0.04 USD")


@pytest.fixture
def endpoint(project, monkeypatch):
    project.write({"test_suite.py": SUITE})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    # Requests are counted here: those that try the seeds are left out, and the order is known.
    monkeypatch.setenv("PYTEST_ADDOPTS", "--t2i-probe never --t2i-concurrency 1")
    return project


def model_of(server):
    return f"openai:fake@{server.url}"


def leftovers(endpoint):
    return [file.name for file in (endpoint.path / ".t2i/locks").iterdir() if "counts" in file.name]


def test_spent_and_saved_are_told(endpoint):
    with serving("busy", "down") as server:
        first = endpoint.run(*PRICE, model=model_of(server)).stdout.str()
        assert "for 0.48 USD: 12 images" in first
        # Neither the rate limit nor an unavailable service is charged.
        assert "images: 12 made" in first
        assert "spent 0.48 USD, saved 0 USD" in first
        again = endpoint.run(*PRICE, model=model_of(server)).stdout.str()
    assert "12 from the store; spent 0 USD, saved 0.48 USD" in again
    work = endpoint.record()["work"]
    assert (work["price"], work["paid"]) == ("0.04 USD", 0)
    assert "Saved by the store" in endpoint.page()
    assert leftovers(endpoint) == []


def test_a_run_stops_at_its_budget_and_another_goes_on(endpoint):
    with serving() as server:
        result = endpoint.run(*PRICE, "--t2i-budget", "0.21 USD", model=model_of(server))
        told = result.stdout.str()
        assert result.ret == pytest.ExitCode.INTERRUPTED
        assert len(server.asked) == 5
        assert "the budget of 0.21 USD pays for 5 of 12 images" in told
        assert "INTERRUPTED: Stopped after 0 of 2 tests" in told
        assert (
            "stopped at the budget of 0.21 USD: 0.20 USD spent, 7 of 12 images are left, which "
            "cost about 0.28 USD. What was made is kept: the same command resumes with "
            '--t2i-budget "0.28 USD"'
        ) in told
        assert endpoint.record()["outcome"] == "INTERRUPTED"
        assert endpoint.record()["settings"]["budget"] == "0.21 USD"
        result = endpoint.run(*PRICE, "--t2i-budget", "0.28 USD", model=model_of(server))
        assert result.ret == 0
        assert "spent 0.28 USD, saved 0.20 USD" in result.stdout.str()
        assert len(server.asked) == 12
    assert leftovers(endpoint) == []


def test_a_request_that_may_be_charged_is_not_repeated(endpoint):
    with serving("error") as server:
        result = endpoint.run(*PRICE, "-p", "no:xdist", model=model_of(server))
        told = result.stdout.str() + result.stderr.str()
    assert result.ret not in (0, 1)
    assert "it may have been charged and is not sent again" in told
    assert "What was made before is kept" in told


def test_what_is_in_the_store_needs_no_budget(endpoint):
    with serving() as server:
        endpoint.run(model=model_of(server))
        result = endpoint.run(*PRICE, "--t2i-budget", "0 USD", model=model_of(server))
    assert result.ret == 0
    assert "spent 0 USD, saved 0.48 USD" in result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize("several", [("-n", "2"), ("--t2i-executor", "processes:2")])
def test_several_processes_share_one_budget(endpoint, several):
    with serving() as server:
        arguments = (*PRICE, *several, "--t2i-budget", "0.20 USD")
        result = endpoint.run_apart(*arguments, model=model_of(server))
        assert len(server.asked) == 5
        assert result.ret == pytest.ExitCode.INTERRUPTED
        assert "spent 0.20 USD;" in result.stdout.str()
        assert endpoint.record()["outcome"] == "INTERRUPTED"
        assert endpoint.record()["work"]["made"] == 5
        result = endpoint.run_apart(*PRICE, *several, model=model_of(server))
        assert "spent 0.28 USD, saved 0.20 USD" in result.stdout.str()
        assert len(server.asked) == 12
    assert result.ret == 0
    assert leftovers(endpoint) == []


def test_a_catalogue_says_what_an_image_costs(endpoint):
    with serving() as server:
        entry = f'[models.ours]\nadapter = "openai"\npath = "fake@{server.url}"\nprice = "1 USD"\n'
        endpoint.write({"models.toml": entry})
        arguments = ("--t2i-catalogue", "models.toml", "--t2i-budget", "3 USD")
        result = endpoint.run(*arguments, model="ours")
        assert len(server.asked) == 3
        assert "3 USD spent, 9 of 12 images are left" in result.stdout.str()
        assert "spent 12 USD" not in result.stdout.str()
        wrong = entry.replace("1 USD", "1 dollar")
        endpoint.write({"models.toml": wrong})
        result = endpoint.run(*arguments, model="ours")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "[models.ours]: price: expected an amount and a currency" in result.stderr.str()


def test_any_model_may_have_a_price(endpoint):
    result = endpoint.run(*PRICE)
    assert "spent 0.48 USD, saved 0 USD" in result.stdout.str()
    assert leftovers(endpoint) == []
