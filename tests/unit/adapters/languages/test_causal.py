"""A tiny random causal model: answers, next tokens, a tokenizer of another model."""

from __future__ import annotations

import pytest
import tiny

from pytest_t2i.adapters.languages import file
from pytest_t2i.adapters.languages.transformers import load
from pytest_t2i.errors import ConfigurationError, FileFormatError, ModelLoadError
from pytest_t2i.protocols import Language, LoadOptions, NextTokens

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model():
    return load(
        LoadOptions(source=str(tiny.written(tiny.write_causal)), device="cpu", extra={"tokens": 8})
    )


def test_it_answers_the_same_each_time(model):
    assert isinstance(model, Language)
    assert isinstance(model, NextTokens)
    told = model.answer("who?", {"type": "object"})
    assert told
    assert told == model.answer("who?", {"type": "object"})


def test_next_tokens_do_not_depend_on_the_texts_beside(model):
    texts = ["This is a photo of", "Hat", "This is a photo of a man"]
    together = model.next_tokens(texts, 5)
    assert [len(row) for row in together] == [5, 5, 5]
    assert together == [model.next_tokens([text], 5)[0] for text in texts]
    for text, row in zip(texts, together, strict=True):
        assert len(set(row)) == 5
        assert all(longer.startswith(text) and len(longer) > len(text) for longer in row)


def test_a_question_that_is_too_long(model):
    with pytest.raises(ConfigurationError, match="the model takes 2048"):
        model.answer("x" * 3000)


def test_what_cannot_be_loaded(tmp_path):
    with pytest.raises(ConfigurationError, match="needs a hub id or a folder"):
        load(LoadOptions())
    with pytest.raises(ModelLoadError, match=r"no config\.json"):
        load(LoadOptions(source=str(tmp_path)))
    other = str(tiny.written(tiny.write_causal, extra_tokens=3))
    with pytest.raises(ModelLoadError, match=r"its tokenizer has \d+ tokens, its model knows \d+"):
        load(LoadOptions(source=other, device="cpu"))


def test_an_answer_in_a_file(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    written = file.load(LoadOptions(source=str(tmp_path / "a.json")))
    assert written.answer("who?") == "{}"
    with pytest.raises(FileFormatError, match="no such file with an answer"):
        file.load(LoadOptions(source=str(tmp_path / "b.json")))
    with pytest.raises(ConfigurationError, match="needs a file"):
        file.load(LoadOptions())
