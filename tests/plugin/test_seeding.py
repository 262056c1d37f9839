"""The probe of seeding in a run: once, told, paid for, and heeded where images are compared."""

from __future__ import annotations

import pytest
from caveats import remarks_of

pytest.importorskip("openai")

from image_server import serving

SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot")

@pytest.mark.t2i(PEOPLE, images=4)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 1.0)

@pytest.mark.t2i(PEOPLE, images=4)
def test_gap(triplets):
    assert triplets.similarity_gap("image") <= limit("similarity_gap.image.own", 1.0)
"""
BASELINE = """
import pytest
from pytest_t2i import axes

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=4)
def test_grown(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")
"""
WORDS = {
    None: "seeded: the same seed gives the same picture, another seed another one",
    "cached": "warning: constant: another seed gives the same picture, as from a cache or with a "
    "fixed seed. Equal pictures count once, and with more than a tenth of them there is no verdict",
    "batch": "seeded, dependent on the batch: where several pictures are made at the same time, "
    "one differs by up to 2 of 255 (--t2i-concurrency 1 makes one at a time)",
    "random": "draws: the seed is ignored, every picture is drawn anew, and no pictures are "
    "compared as pairs",
}
NO_NOISE = "variants share no noise: the endpoint draws every picture anew, whatever its seed"


@pytest.fixture
def endpoint(project, monkeypatch):
    project.write({"test_suite.py": SUITE})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return project


def remarks(endpoint):
    return [remark for check in endpoint.record()["checks"] for remark in remarks_of(check)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server_is", "kind", "asked"),
    [
        (None, "seeded", 11),
        ("batch", "batch", 11),
        ("random", "draws", 2),
        ("cached", "constant", 3),
    ],
)
def test_what_seeds_determine_is_told_everywhere(endpoint, server_is, kind, asked):
    with serving(always=server_is) as server:
        result = endpoint.run(model=f"openai:fake@{server.url}")
        assert len(server.asked) == 24 + asked
        told = result.stdout.str()
        assert "honours seeds, with up to 11 requests (--t2i-probe never skips this)" in told
        assert f"/v1: {WORDS[server_is]}" in told
        assert "images: 24 made" in told
        assert f"{asked} requests to try the seeds" in told
        first = endpoint.record()
        # Known now: asked no more, and still told.
        again = endpoint.run(model=f"openai:fake@{server.url}").stdout.str()
        assert len(server.asked) == 24 + asked
    assert "requests to try" not in again
    assert (WORDS[server_is] in again) == (server_is is not None)
    for record in (first, endpoint.record()):
        found = record["provenance"]["seeding"]
        assert (found["kind"], found["words"]) == (kind, WORDS[server_is])
    assert first["work"]["probed"] == asked
    assert WORDS[server_is] in endpoint.page()
    assert (NO_NOISE in remarks(endpoint)) == (kind == "draws")


@pytest.mark.slow
def test_the_probe_can_be_left_out_and_repeated(endpoint):
    with serving() as server:
        model = f"openai:fake@{server.url}"
        endpoint.run("--t2i-probe=never", model=model)
        assert len(server.asked) == 24
        assert "seeding" not in endpoint.record()["provenance"]
        endpoint.run(model=model)  # nothing is made: nothing is asked
        assert len(server.asked) == 24
        server.always = "random"
        endpoint.run("--t2i-probe", "again", model=model)
        assert len(server.asked) == 26
        assert endpoint.record()["provenance"]["seeding"]["kind"] == "draws"
        server.always = None
        endpoint.run("--t2i-probe", "again", model=model)
        assert endpoint.record()["provenance"]["seeding"]["kind"] == "seeded"


def test_against_a_baseline_pictures_that_are_drawn_anew_are_no_pairs(endpoint):
    with serving(always="random") as server:
        model = f"openai:fake@{server.url}"
        endpoint.run("--t2i-save-baseline", "b.json", model=model)
        endpoint.write({"test_suite.py": BASELINE})
        result = endpoint.run("--t2i-baseline", "b.json", "--t2i-store", "other", model=model)
    assert result.ret in (0, 1, 6)
    words = "compared as unpaired images: the endpoint draws every picture anew, whatever its seed"
    assert words in remarks(endpoint)
    assert WORDS["random"] in endpoint.page()


def test_the_probe_is_paid_for_and_left_out_where_money_is_short(endpoint):
    with serving() as server:
        model = f"openai:fake@{server.url}"
        price = ("--t2i-price", "0.10 USD")
        told = endpoint.run(*price, "--t2i-budget", "1 USD", model=model).stdout.str()
        assert (
            "the seeds are not tried: the budget of 1 USD does not pay for 11 requests and a "
            "picture"
        ) in told
        assert len(server.asked) == 10
        told = endpoint.run(*price, "--t2i-budget", "1.30 USD", model=model).stdout.str()
        assert "11 requests to try the seeds (1.10 USD); spent 1.30 USD" in told
        assert endpoint.record()["work"]["made"] == 2
        assert len(server.asked) == 23
