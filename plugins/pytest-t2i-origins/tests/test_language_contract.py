"""Every registered language model obeys its Protocol: a server, tiny weights, reference-lm, a file.

One that has no case here fails the last test: write one when you add an adapter.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tiny
from installed import needs
from llm_server import attributes, serving
from pytest_t2i import axes
from pytest_t2i.adapters.registry import import_factory
from pytest_t2i.errors import LanguageError
from pytest_t2i.protocols import Language, LoadOptions, NextTokens

from pytest_t2i_origins.questions.candidates import SCHEMA, ask_for_candidates
from pytest_t2i_origins.questions.sentences import ask_for_sentences

pytestmark = pytest.mark.slow

PLUGINS = Path(__file__).parents[2]
PROJECTS = (PLUGINS / "pytest-t2i-origins", PLUGINS / "pytest-t2i-reference")
KNOWN = "a photo of a Mexican person"
STRANGER = "a photo of a Bosnian person"


def registered() -> dict[str, str]:
    """Name of every language model of this repository -> module:factory."""
    names: dict[str, str] = {}
    for folder in PROJECTS:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        names |= project["entry-points"].get("pytest_t2i.languages", {})
    return names


@dataclass(frozen=True, slots=True)
class Case:
    """One registered language model, a source for it, and another language model."""

    name: str
    source: str
    other: tuple[str, str]
    """Name and source."""
    answers: tuple[str, ...] = ()
    """Prompts that it has attributes for."""
    refuses: tuple[str, ...] = ()

    def load(self) -> Any:
        return loaded(self.name, self.source)


def loaded(name: str, source: str) -> Any:
    # Weights drawn by chance never come to an end.
    extra = {"tokens": 32 if name == "transformers" else 1024}
    options = LoadOptions(source, device="cpu", extra=extra)
    return import_factory(registered()[name])(options)


def of_server(folder: Path) -> Case:
    return Case("openai", "m", ("openai", "n"), (KNOWN, STRANGER))


def of_tiny(folder: Path) -> Case:
    first, second = (str(tiny.written(tiny.write_causal, seed)) for seed in (0, 1))
    return Case("transformers", first, ("transformers", second), refuses=(KNOWN, STRANGER))


def of_shipped(folder: Path) -> Case:
    return Case("reference-lm", "", of_tiny(folder).other, (KNOWN,), (STRANGER,))


def of_file(folder: Path) -> Case:
    whole, other = folder / "whole.json", folder / "other.json"
    whole.write_text(json.dumps({"attributes": attributes()}))
    other.write_text("I would rather not.")
    return Case("file", str(whole), ("file", str(other)), (KNOWN,))


CASES = {
    "openai": of_server,
    "transformers": of_tiny,
    "reference-lm": of_shipped,
    "file": of_file,
}


@pytest.fixture(params=CASES)
def case(request, monkeypatch, tmp_path) -> Iterator[Case]:
    if request.param == "openai":
        needs("openai")
    with serving() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody-0123")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield CASES[request.param](tmp_path)


def test_fingerprint_is_stable_and_follows_the_source(case):
    fingerprint = case.load().fingerprint
    assert isinstance(fingerprint, str)
    assert fingerprint
    assert case.load().fingerprint == fingerprint != loaded(*case.other).fingerprint


def test_it_answers_in_words_and_twice_the_same(case):
    language = case.load()
    assert isinstance(language, Language)
    for schema in (None, SCHEMA):
        told = language.answer("Who is in the picture?", schema)
        assert isinstance(told, str)
        assert told.strip()
        assert told == language.answer("Who is in the picture?", schema)


def test_candidates_are_whole_or_refused(case):
    language = case.load()
    for prompt in case.answers:
        named = ask_for_candidates(language, prompt, fewest=15, tries=1)
        assert len({one.name for one in named}) == len(named) >= 15
        assert all(one.positive != one.negative for one in named)
    for prompt in case.refuses:
        with pytest.raises(LanguageError, match="no usable answer in 1 try"):
            ask_for_candidates(language, prompt, fewest=15, tries=1)


def test_sentences_are_whole_or_refused(case):
    language, nurse = case.load(), axes.wu.healthcare.only("nurse")
    kept = []

    def ask():
        return ask_for_sentences(language, [nurse], {}, tries=1, keep=kept.append)

    if case.name == "openai":
        assert ask() == 1
        assert kept[0][0].sentences == (("nurse", "A nurse at work beside a red car"),)
    else:
        told = "/.*whole.json: " if case.name == "file" else "no usable answer in 1 try: "
        with pytest.raises(LanguageError, match=f"nurse: {told}"):
            ask()
        assert kept == []


def test_texts_go_on_by_one_token_whatever_stands_beside_them(case):
    language = case.load()
    if not isinstance(language, NextTokens):
        pytest.skip("answers only")
    texts = ["This is a photo of", "a man", "This is a photo of an old woman"]
    together = language.next_tokens(texts, 7)
    for text, row in zip(texts, together, strict=True):
        (alone,) = language.next_tokens([text], 7)
        assert [token.text for token in row] == [token.text for token in alone]
        # Sums of another order.
        likely = pytest.approx([token.probability for token in alone], abs=1e-5)
        assert [token.probability for token in row] == likely
        assert len({token.text for token in row}) == len(row) == 7
        assert all(token.text.startswith(text) for token in row)
        assert 0 < sum(token.probability for token in row) <= 1 + 1e-6
    assert language.next_tokens([], 7) == []


def test_the_likeliest_token_is_first(case):
    language = case.load()
    if not isinstance(language, NextTokens):
        pytest.skip("answers only")
    (few,), (many,) = (language.next_tokens(["This is a photo of"], count) for count in (3, 30))
    assert [token.text for token in few] == [token.text for token in many[:3]]
    assert many == sorted(many, key=lambda token: -token.probability)


def test_every_registered_name_has_a_case():
    assert set(registered()) == set(CASES)
