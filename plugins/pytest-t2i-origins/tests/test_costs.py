"""What a search for origins spends on a model behind HTTP: told, and in the budget."""

from __future__ import annotations

import sys

import fakes
import pytest
from stop_parts import Echo, WholePicture

pytest.importorskip("openai")

from image_server import serving
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.cli.main import main

STOP = ("research", "stop", "--concept", "Iranian person", "--faces", "whole", "--llm", "echo",
        "--tokens", "1", "--clusters", "2", "--made", "2")  # fmt: skip
IMAGES = 20


@pytest.fixture
def asked(tmp_path, monkeypatch, capsys):
    """Run a command on a server; what it said."""
    offered = {
        "detector": {"colour": fakes.detector},
        "encoder": {"clip": fakes.text_encoder},
        "face": {"whole": lambda options: WholePicture()},
        "language": {"echo": lambda options: Echo()},
    }
    plain = Registry.__init__

    def init(self, kind, local=None):
        plain(self, kind, dict(offered.get(kind, {})) if local is None else local)

    monkeypatch.setattr(Registry, "__init__", init)
    monkeypatch.setitem(sys.modules, "fakes", fakes)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    def run(server, *arguments):
        status = main([
            *arguments, "--model", f"openai:m@{server.url}", "--detector", "colour",
            "--store", str(tmp_path / ".t2i"), "--out", str(tmp_path / "out"),
        ])  # fmt: skip
        told = capsys.readouterr()
        return status, " ".join((told.out + told.err).split())

    return run


@pytest.mark.slow
def test_what_is_spent_is_told_before_and_after(asked):
    with serving() as server:
        given = (*STOP, "--images", str(IMAGES), "--price", "0.01 USD")
        status, told = asked(server, *given)
        assert status == 0, told
        spent = f"{len(server.asked) / 100:.2f}".rstrip("0").rstrip(".")
        assert f"spent {spent} USD for {len(server.asked)} requests" in told
        assert f"{len(server.asked)} images made" in told
        assert f"at most {IMAGES + 4} images for {(IMAGES + 4) / 100:g} USD" in told
        before = len(server.asked)
        assert "spent 0 USD for 0 requests; 0 images made" in asked(server, *given)[1]
        assert len(server.asked) == before


@pytest.mark.slow
def test_a_budget_is_never_passed_and_the_command_goes_on_with_another(asked):
    given = (*STOP, "--images", str(IMAGES), "--price", "0.10 USD")
    with serving() as server:
        status, told = asked(server, *given, "--budget", "0.70 USD")
        assert status == 2
        assert len(server.asked) == 7
        assert "the budget of 0.70 USD pays for 7 of" in told
        assert "ERROR: stopped at the budget of 0.70 USD: 0.70 USD spent. Finished" in told
        assert told.count("stopped at the budget") == 1
        assert "--t2i-" not in told
        status, told = asked(server, *given, "--budget", "90 USD")
        assert status == 0, told
        seen = [(body["prompt"], body["seed"]) for body in server.bodies]
        assert len(set(seen)) == len(seen)


def test_a_budget_needs_a_price(asked):
    with serving() as server:
        status, told = asked(server, *STOP, "--budget", "1 USD")
    assert status == 2
    assert 'ERROR: --budget needs the price of an image: --price "0.04 USD"' in told
    assert server.asked == []
