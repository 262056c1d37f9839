"""The version of a model behind HTTP: asked, told, part of the fingerprint, and remembered."""

from __future__ import annotations

import pytest

pytest.importorskip("openai")

from image_server import serving

from pytest_t2i.generation import identities

KEY = "sk-very-secret-0123"
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=2)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 1.0)
"""


@pytest.fixture
def endpoint(project, monkeypatch):
    project.write({"test_suite.py": SUITE})
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--t2i-probe never --t2i-concurrency 1")
    monkeypatch.setattr(identities, "PATIENCE", 0.3)
    return project


def saying(**fields):
    return {"object": "list", "data": [{"id": "fake", "object": "model", **fields}]}


def run(endpoint, server, *arguments):
    return endpoint.run(*arguments, model=f"openai:fake@{server.url}").stdout.str()


def version(endpoint):
    return endpoint.record()["provenance"]["model"]["version"]


@pytest.mark.slow
def test_pictures_of_another_version_are_made_anew_and_it_is_said(endpoint):
    with serving() as server:
        server.models = saying(revision="a1")
        told = run(endpoint, server)
        assert "images: 4 made" in told
        assert "another version" not in told
        assert version(endpoint) == "revision a1"
        assert "revision a1" in endpoint.page()
        assert "4 from the store" in run(endpoint, server)
        server.models = saying(revision="b2")
        told = " ".join(run(endpoint, server).split())
        assert "images: 4 made" in told
        assert "has another version than before, revision b2; it was revision a1" in told
        server.models = saying(revision="a1")
        assert "4 from the store" in run(endpoint, server)
    assert len(server.asked) == 8


@pytest.mark.slow
@pytest.mark.parametrize("fails", ["down", "dropped", "slow", "dripping", "endless", "html"])
def test_a_server_that_does_not_say_it_for_a_moment_makes_nothing_anew(endpoint, fails):
    with serving(slow=2.0) as server:
        server.models = saying(revision="a1")
        run(endpoint, server)
        server.models_fail = fails
        told = " ".join(run(endpoint, server).split())
    assert "4 from the store" in told
    assert "reports no version at this moment" in told
    assert "the last one is assumed, revision a1" in told
    assert version(endpoint) == "revision a1"
    assert len(server.asked) == 4


def test_a_version_that_is_told_later_is_that_of_the_pictures_there_are(endpoint):
    with serving() as server:
        server.models_fail = "down"
        told = " ".join(run(endpoint, server).split())
        assert "the version of openai:fake" in told
        assert "is not known: HTTP 503" in told
        assert version(endpoint) == "not told"
        server.models, server.models_fail = saying(revision="a1"), None
        assert "4 from the store" in run(endpoint, server)
        assert version(endpoint) == "revision a1"
        server.models = saying(revision="b2")
        assert "images: 4 made" in run(endpoint, server)
    assert len(server.asked) == 8


@pytest.mark.parametrize("answers", [None, "not_implemented", "denied", "html"])
def test_a_server_that_knows_no_such_question_is_fine(endpoint, answers):
    with serving() as server:
        server.models_fail = answers
        told = run(endpoint, server)
    assert "images: 4 made" in told
    assert "version of" not in told
    assert version(endpoint) == "not told"
    assert server.fetched[0][0] == "/v1/models"


def test_a_version_that_holds_the_key_is_hidden(endpoint):
    with serving() as server:
        server.models = saying(revision=f"for-{KEY}")
        run(endpoint, server)
    assert version(endpoint) == "revision for-[hidden]"


@pytest.mark.slow
def test_workers_of_one_run_go_by_one_version(endpoint):
    with serving() as server:
        server.models = saying(revision="a1")
        result = endpoint.run("-n", "2", model=f"openai:fake@{server.url}")
        assert "images: 4 made" in result.stdout.str()
    assert version(endpoint) == "revision a1"
    assert len(server.asked) == 4
