"""Mistakes at the command line of the companion: each is one clear message."""

from __future__ import annotations

import pytest
from pytest_t2i.cli.main import main

CANDIDATES = ("research", "candidates", "a Tunisian person", "--llm")
STOP = ("research", "stop", "--concept", "x", "--llm", "file:a.txt", "--model")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("research", "candidates", "a house", "--llm", "file:absent"),
            "no concept is found in 'a house'",
        ),
        ((*CANDIDATES, "file:absent"), "absent: no such file with"),
        ((*CANDIDATES, "opnai:m"), "unknown language 'opnai'"),
        ((*CANDIDATES, "file:a.txt"), "a.txt: the answer is"),
        ((*STOP, "sdxxl"), "unknown model"),
        ((*STOP, "fakes:fair"), "a language model that continues texts, got file"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_mistake_in_a_command(tmp_path, monkeypatch, capsys, arguments, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("a hat and a beard")
    assert main(arguments) == 2
    assert expected in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_a_language_model_that_cannot_be_asked(tmp_path, monkeypatch, capsys):
    import tiny

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    other = tiny.written(tiny.write_causal, extra_tokens=3)
    for llm, expected in (
        ("openai:load:m", "openai:m needs the environment variable OPENAI_API_KEY"),
        (f"transformers:load:{other}", "expected the model's own tokenizer"),
    ):
        assert main((*CANDIDATES, f"pytest_t2i_origins.languages.{llm}")) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert expected in told
        assert "Traceback" not in told
