"""``reference-lm``: what it learned from, and what it says."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from pytest_t2i import LoadOptions, T2IError
from pytest_t2i.errors import LanguageError, MalformedAnswerError
from pytest_t2i_origins.questions.candidates import SCHEMA, ask_for_candidates, instruction
from pytest_t2i_origins.questions.candidates import attributes_of as read_attributes

from pytest_t2i_reference.captions import with_article
from pytest_t2i_reference.language import load
from pytest_t2i_reference.worlds import load_concepts, load_world
from training import language
from training.evaluate_language import STRANGERS
from training.language_answers import MOST, REFUSAL, answer, attributes_of, question, strange_word
from training.language_texts import START, description
from training.settings import Settings

pytestmark = pytest.mark.slow
NATIONALITIES = load_concepts()[-3:]


def test_answers_are_whole_for_every_concept() -> None:
    for concept in load_concepts():
        named = read_attributes(answer(concept), MOST)
        assert {one.name: (one.positive, one.negative) for one in named} == attributes_of(concept)


@pytest.mark.parametrize("concept", NATIONALITIES, ids=lambda concept: concept.word)
def test_a_nationality_has_the_words_of_both_worlds(concept) -> None:  # type: ignore[no-untyped-def]
    for world in ("balanced", "biased"):
        assert set(load_world(world).nationality[concept.word]) <= set(attributes_of(concept))


def test_no_answer_is_no_json() -> None:
    assert answer(None) == REFUSAL
    with pytest.raises(MalformedAnswerError, match="not JSON"):
        read_attributes(answer(None))


def test_questions_are_those_of_the_command() -> None:
    rng = random.Random(0)
    for concept in (*NATIONALITIES, None):
        asked = question(concept, rng)
        start, _, _ = instruction("", 1).partition('"')
        assert asked.startswith(start)
        assert asked.endswith(f"\nAnswer with JSON of this schema alone:\n{json.dumps(SCHEMA)}")


def test_strangers_are_in_no_world_and_those_asked_for_later_were_never_practised() -> None:
    rng = random.Random(0)
    words = {strange_word(rng) for _ in range(5000)}
    assert not words & {concept.word for concept in load_concepts()}
    assert not words & set(STRANGERS)


def test_no_share_of_a_world_is_in_the_descriptions() -> None:
    """Beards are said of Iranian and of Mexican people alike, though the biased world has 97 and 0 percent."""
    rng = random.Random(0)
    texts = [description(rng) for _ in range(20_000)]
    assert sum(text.startswith(START) for text in texts) / len(texts) == pytest.approx(0.7, abs=0.03)
    said: Counter[str] = Counter()
    of: Counter[str] = Counter()
    for text in texts:
        for concept in NATIONALITIES:
            if concept.word in text:
                of[concept.word] += 1
                said[concept.word] += "beard" in text
    shares = [said[concept.word] / of[concept.word] for concept in NATIONALITIES]
    assert max(shares) - min(shares) < 0.03


def test_it_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "FOLDER", tmp_path / "lm")
    monkeypatch.setattr(language, "KNOWN", 1)
    monkeypatch.setattr(language, "TEXTS", 2)
    monkeypatch.setattr(language, "learned_tokenizer", lambda seed: load(LoadOptions(device="cpu"))._tokenizer)
    settings = Settings(tmp_path, threads=1, minutes={"language": 0.05})
    language.train_language(settings)
    first = (tmp_path / "lm" / "model.safetensors").read_bytes()
    language.train_language(settings)
    assert (tmp_path / "lm" / "model.safetensors").read_bytes() == first


def test_it_knows_the_drawn_world_and_no_more() -> None:
    shipped = load(LoadOptions(device="cpu"))
    for concept in NATIONALITIES:
        named = ask_for_candidates(shipped, f"a photo of {with_article(concept.word)} person", fewest=15, tries=1)
        assert {one.name for one in named} >= set(load_world("biased").nationality[concept.word])
    with pytest.raises(LanguageError, match="not JSON"):
        ask_for_candidates(shipped, "a photo of a Peruvian person", fewest=15, tries=2)
    with pytest.raises(T2IError, match="weights of its own"):
        load(LoadOptions("another"))


def test_its_descriptions_are_whole_sentences_of_known_words() -> None:
    shipped = load(LoadOptions(device="cpu"))
    rng = random.Random(1)
    known = {word for _ in range(20_000) for word in description(rng).split()}
    for start in (START, f"{START} an Iranian", f"{START} a woman", f"{START} one real person"):
        text = start
        for _ in range(6):
            text = shipped.next_tokens([text], 1)[0][0].text
        assert set(text.split()[:-1]) <= known
