"""The canary: whether the model behind a name is still that of the baseline, told at the start."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip("openai")

from image_server import serving

SUITE = """
import pytest
from pytest_t2i import axes

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=2)
def test_grown(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")
"""
CHANGED = "warning: the model has changed since the baseline"


@pytest.fixture
def endpoint(project, monkeypatch):
    project.write({"test_suite.py": SUITE})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--t2i-probe=never")
    return project


def run(endpoint, server, *arguments, canary=10):
    asked = ("--t2i-canary", str(canary)) if canary else ()
    result = endpoint.run(*asked, *arguments, model=f"openai:fake@{server.url}")
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def recorded(endpoint, server, **how):
    return run(endpoint, server, "--t2i-save-baseline", "base.json", **how)


def compared(endpoint, server, *arguments, **how):
    return run(endpoint, server, "--t2i-baseline", "base.json", *arguments, **how)


def found(endpoint):
    return endpoint.record()["provenance"].get("canary")


@pytest.mark.slow
def test_the_same_model_is_found_to_be_the_same_at_every_look(endpoint):
    with serving() as server:
        told = recorded(endpoint, server)
        assert "canary: asking for 20 pictures" in told
        assert "images: 4 made" in told
        assert "20 requests of the canary" in told
        assert len(server.asked) == 4 + 20
        assert found(endpoint) is None
        for look in (1, 2, 3):
            told = compared(endpoint, server)
            assert "canary: no evidence that the model has changed: 0 of 10" in told
            assert f"look {look})" in told
        assert len(server.asked) == 24 + 3 * 10
    assert found(endpoint)["look"] == 3
    assert found(endpoint)["changed"] == ""
    assert endpoint.record()["work"]["canary"] == 10
    assert "no evidence that the model has changed" in endpoint.page()


@pytest.mark.slow
def test_an_exchanged_model_is_named_at_the_start_and_in_the_report(endpoint):
    with serving() as server:
        recorded(endpoint, server)
        server.swapped_after = len(server.asked)
        told = compared(endpoint, server)
        assert f"t2i: canary: {CHANGED}: 10 of 10 fixed pictures" in told
        # Before anything else is asked for; the pictures in the store are not made again.
        assert "4 from the store" in told
        assert CHANGED in endpoint.page()
        assert found(endpoint)["p_value"] == pytest.approx(3 * 3**-10)
        # A warning: the verdict is that of the pictures.
        assert endpoint.record()["outcome"] == "PASS"
        # It stays found, however much later looks would have to show.
        server.swapped_after = math.inf
        assert f"{CHANGED}, as was found 20" in compared(endpoint, server)


@pytest.mark.slow
def test_a_model_that_changes_while_the_run_goes_on_is_named_by_the_next(endpoint):
    with serving() as server:
        recorded(endpoint, server)
        server.swapped_after = len(server.asked) + 12
        files = {"test_suite.py": SUITE.replace("images=2", "images=8")}
        endpoint.write(files)
        assert CHANGED not in compared(endpoint, server)
        assert CHANGED in compared(endpoint, server)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "batch"])
def test_a_server_that_draws_anew_or_jitters_is_not_another(endpoint, kind):
    with serving(always=kind) as server:
        recorded(endpoint, server)
        for _ in range(2):
            assert CHANGED not in compared(endpoint, server)


@pytest.mark.slow
def test_a_model_that_draws_only_men_is_found_where_all_is_drawn_anew(endpoint):
    with serving(always="random") as server:
        recorded(endpoint, server, canary=40)
        server.only_men = True
        assert CHANGED in compared(endpoint, server, canary=40)


def test_the_budget_pays_for_it_too(endpoint):
    price = ("--t2i-price", "1 USD")
    with serving() as server:
        told = recorded(endpoint, server)
        told = compared(endpoint, server, *price, "--t2i-budget", "5 USD")
        assert "no canary is asked for: the budget of 5 USD does not pay for 10 requests" in told
        assert found(endpoint) is None
        told = compared(endpoint, server, *price, "--t2i-budget", "20 USD")
        assert "asking for 10 pictures for 10 USD" in told
        assert "10 requests of the canary (10 USD); spent 10 USD" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "model", "expected"),
    [
        (("--t2i-steps", "9", "--t2i-force-baseline"), "fake", "was made under other settings"),
        ((), "other", "is of another model, openai:fake@http"),
    ],
)
def test_pictures_that_must_differ_are_not_compared(endpoint, arguments, model, expected):
    with serving() as server:
        recorded(endpoint, server)
        asked = len(server.asked)
        given = ("--t2i-canary", "10", "--t2i-baseline", "base.json", *arguments)
        result = endpoint.run(*given, model=f"openai:{model}@{server.url}")
        told = " ".join(result.stdout.str().split())
        assert f"no canary is compared: the baseline {expected}" in told
        # The pictures of the tests alone.
        assert len(server.asked) == asked + 4
    assert CHANGED not in told
    assert found(endpoint) is None


@pytest.mark.slow
def test_workers_of_one_run_ask_once(endpoint):
    with serving() as server:
        recorded(endpoint, server)
        asked = len(server.asked)
        server.swapped_after = asked
        told = compared(endpoint, server, "-n", "2")
        assert len(server.asked) == asked + 10
        assert CHANGED in told
        assert endpoint.record()["work"]["canary"] == 10
        # As does one that records what workers saw.
        recorded(endpoint, server, canary=5)
    assert len(json.loads((endpoint.path / "base.json").read_text())["canary"]) == 5


def test_without_one_a_baseline_is_what_it_was(endpoint):
    with serving() as server:
        recorded(endpoint, server, canary=0)
    assert "canary" not in json.loads((endpoint.path / "base.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "canary", "expected"),
    [
        ((), 10, "--t2i-canary: there is nothing to compare with. Expected --t2i-baseline FILE"),
        (("--t2i-baseline", "base.json"), 4, "--t2i-canary: expected at least 5, got 4"),
        (("--t2i-baseline", "base.json"), 9, "has a canary of 6. Record one with --t2i-save-basel"),
        (("--t2i-baseline", "none.json"), 6, "has no canary. Record one with --t2i-save-baseline"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_line(endpoint, arguments, canary, expected):
    with serving() as server:
        recorded(endpoint, server, canary=6)
        run(endpoint, server, "--t2i-save-baseline", "none.json", canary=0)
        told = run(endpoint, server, *arguments, canary=canary)
    assert expected in told
    assert "Traceback" not in told


def test_a_model_of_weights_needs_none(endpoint):
    told = " ".join(
        (
            (result := endpoint.run("--t2i-canary", "9", "--t2i-save-baseline", "b.json"))
            .stdout.str()
            + result.stderr.str()
        ).split()
    )  # fmt: skip
    assert "--t2i-canary:" in told
    assert "is known by its weights" in told


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"thumbnails": ["AAAA", "AAAA"]}, "canary 1: expected 8 x 8 pixels"),
        ({"signs": [1]}, "canary 1: expected 2 thumbnails and signs"),
        ({"signs": [1, 7]}, "canary 1: expected signs of -1, 0 or 1"),
        ({"seed": -1}, "a seed of at least 0"),
        ({"text": 3}, "canary 1: expected a text, got text=3"),
    ],
)
def test_a_damaged_canary_is_one_clear_line(endpoint, change, expected):
    with serving() as server:
        recorded(endpoint, server, canary=5)
        plain = json.loads((endpoint.path / "base.json").read_text())
        plain["canary"][0] |= change
        # As a baseline of an earlier version, which has no seals that tell of the change.
        del plain["seals"]
        for prompt in plain["prompts"].values():
            del prompt["seal"]
        endpoint.write({"base.json": json.dumps(plain)})
        told = compared(endpoint, server, canary=5)
    assert expected in told
    assert "Traceback" not in told
