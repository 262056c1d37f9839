"""A tiny random causal model: answers, next tokens, a tokenizer of another model."""

from __future__ import annotations

import shutil

import pytest
import tiny
import torch
from pytest_t2i import FileFormatError, Language, LoadOptions, NextTokens, T2IError
from tokenizers import Tokenizer, models
from transformers import GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from pytest_t2i_origins.languages import file
from pytest_t2i_origins.languages.transformers import load

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
    for text, row in zip(texts, together, strict=True):
        (alone,) = model.next_tokens([text], 5)
        assert [token.text for token in row] == [token.text for token in alone]
        assert len({token.text for token in row}) == 5
        assert all(token.text.startswith(text) for token in row)


def test_an_end_is_the_text_itself(model):
    """With all tokens asked for, the end stands among them once, with its probability."""
    text = "This is a photo of a man"
    (row,) = model.next_tokens([text], 10_000)
    assert [token.text for token in row].count(text) == 1
    assert sum(token.probability for token in row) <= 1 + 1e-6
    with torch.no_grad():
        told = model._model(**model._tokenizer(text, return_tensors="pt")).logits[0, -1].softmax(-1)
    (end,) = [token.probability for token in row if token.text == text]
    assert end == pytest.approx(float(told[model._tokenizer.eos_token_id]), rel=1e-4)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, text: model.answer(text),
        lambda model, text: model.next_tokens(["This is a photo of", text], 5),
    ],
    ids=["answer", "next_tokens"],
)
def test_a_text_that_is_too_long(model, ask):
    expected = r"expected fewer than 2048 tokens, .* got a text of 3001"
    with pytest.raises(T2IError, match=expected):
        ask(model, "x" * 3000)


def test_the_longest_text_that_goes_on(model):
    assert len(model.next_tokens(["x" * 2046], 5)[0]) == 5
    with pytest.raises(T2IError, match="got a text of 2048"):
        model.next_tokens(["x" * 2047], 5)


@pytest.mark.parametrize("template", ["", "{{ bos_token }}{{ messages[0]['content'] }}:"])
def test_a_text_begins_once(tmp_path, monkeypatch, template):
    """A chat template writes the token of the beginning itself; a plain text has it written."""
    folder = tmp_path / "chat"
    shutil.copytree(tiny.written(tiny.write_causal), folder)
    if template:
        (folder / "chat_template.jinja").write_text(template)
    model = load(LoadOptions(source=str(folder), device="cpu", extra={"tokens": 8}))
    given = []
    generate = model._model.generate

    def noted(**how):
        given.append(how["input_ids"][0].tolist())
        return generate(**how)

    monkeypatch.setattr(model._model, "generate", noted)
    assert model.answer("who?")
    begin = model._tokenizer.bos_token_id
    assert given[0][0] == begin
    assert given[0].count(begin) == 1
    assert len(given[0]) == 1 + len("who?" + template[-1:])


def test_what_cannot_be_loaded(tmp_path):
    with pytest.raises(T2IError, match="expected a hub id or a folder"):
        load(LoadOptions())
    with pytest.raises(T2IError, match=r"no config\.json"):
        load(LoadOptions(source=str(tmp_path)))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"a": 1}'])
def test_a_tokenizer_that_cannot_be_read(tmp_path, text):
    folder = tmp_path / "model"
    shutil.copytree(tiny.written(tiny.write_causal), folder)
    (folder / "tokenizer.json").write_text(text)
    with pytest.raises(T2IError) as told:
        load(LoadOptions(source=str(folder), device="cpu"))
    assert str(told.value) == (
        f"{folder}: expected a tokenizer that transformers can read, and there is none: put the "
        "model's own tokenizer into the folder."
    )


def test_a_model_without_a_tokenizer(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny.written(tiny.write_causal), folder)
    for part in folder.glob("tokenizer*"):
        part.unlink()
    # For this architecture transformers makes no empty tokenizer up.
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    config = LlamaConfig(vocab_size=259, num_attention_heads=1, **sizes)
    LlamaForCausalLM(config).save_pretrained(folder)
    with pytest.raises(T2IError, match="expected a tokenizer that transformers can read"):
        load(LoadOptions(source=str(folder), device="cpu"))


def padded(folder, rows):
    """The tiny model with so many embeddings, whose tokenizer stays."""
    shutil.copytree(tiny.written(tiny.write_causal), folder)
    model = GPT2LMHeadModel.from_pretrained(folder)
    model.resize_token_embeddings(rows)
    model.save_pretrained(folder)
    return LoadOptions(source=str(folder), device="cpu", extra={"tokens": 8})


def test_the_tokenizer_of_another_model(tmp_path):
    expected = "expected the model's own tokenizer, with about {1} tokens, got one with {0}"
    larger = str(tiny.written(tiny.write_causal, extra_tokens=3))
    with pytest.raises(T2IError, match=expected.format(262, 259)):
        load(LoadOptions(source=larger, device="cpu"))
    with pytest.raises(T2IError, match=expected.format(259, 1100)):
        load(padded(tmp_path / "smaller", 1100))


def test_a_tokenizer_whose_numbers_have_holes(tmp_path):
    """As many tokens as embeddings, but the highest has a number that the model does not know."""
    options = padded(tmp_path / "holes", 259)
    numbers = {f"word{k}": k for k in range(258)} | {"last": 300}
    words = Tokenizer(models.WordLevel(numbers, unk_token="word0"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="word0")
    tokenizer.save_pretrained(options.source)
    assert len(tokenizer) == 259
    with pytest.raises(T2IError, match="with about 259 tokens, got one with 301"):
        load(options)


@pytest.mark.parametrize("rows", [259, 320, 384])
def test_padded_embeddings_are_no_other_model(tmp_path, rows):
    model = load(padded(tmp_path / "padded", rows))
    assert model.answer("who?")
    assert len(model.next_tokens(["Hat"], 5)[0]) == 5


def test_an_answer_in_a_file(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    written = file.load(LoadOptions(source=str(tmp_path / "a.json")))
    assert written.answer("who?") == "{}"
    with pytest.raises(FileFormatError, match="no such file with an answer"):
        file.load(LoadOptions(source=str(tmp_path / "b.json")))
    with pytest.raises(T2IError, match="expected the name of a file"):
        file.load(LoadOptions())
