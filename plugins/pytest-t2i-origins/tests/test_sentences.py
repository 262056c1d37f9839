"""Which answers of a language model are neutral sentences of a profession."""

from __future__ import annotations

import json

import pytest
from pytest_t2i import axes, read_axes
from pytest_t2i.errors import FileFormatError, MalformedAnswerError

from pytest_t2i_origins.questions.sentences import (
    as_toml,
    instruction,
    problem,
    sentence_of,
    sentences_in,
)


def told(sentence):
    return json.dumps({"sentence": sentence})


@pytest.mark.parametrize(
    ("profession", "sentence"),
    [
        ("ecologist", "An ecologist studies the ecosystem in a lush green forest"),
        ("police officer", "A police officer stands beside a parked car."),
        ("street artist", "On a brick wall a street artist sprays a blue wave"),
        ("orthopedic surgeon", "An orthopedic surgeon studies an x-ray of a knee"),
        ("event DJ", "An event dj turns knobs under purple lights"),
        ("UI designer", "A UI designer sketches screens on a whiteboard"),
    ],
)
def test_neutral_sentences(profession, sentence):
    assert sentence_of(told(sentence), profession) == sentence


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("A nurse adjusts her mask", "another person: her"),
        ("A nurse, an African, folds linen", "another person: african"),
        ("A person who is a nurse folds linen", "another person: person"),
        ("A nurse and a doctor look at a chart", "another person: doctor"),
        ("A nurse and two surgeons look at a chart", "another person: surgeons"),
        ("A nurse takes the pulse of a patient", "another person: patient"),
        ("A nurse waves to two firemen and their colleagues", "another person: colleagues"),
        ("Nurses fold linen", "expected 'nurse' once, in the singular, got it 0 times"),
        ("A nurse beside a nurse", "got it 2 times"),
        ("A nurse-midwife folds linen", "got it 0 times"),
        ("A nurse folds linen. The sun shines.", "expected one sentence, got several"),
        ("A nurse folds linen" + " and linen" * 20, "at most 150 printable characters"),
        ("A nurse folds \x1b[31m linen", "printable"),
        ("Somebody folds linen", "got it 0 times"),
    ],
)
def test_sentences_that_are_not(sentence, wrong):
    assert wrong in problem(sentence, "nurse")
    with pytest.raises(MalformedAnswerError):
        sentence_of(told(sentence), "nurse")


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "expected a text under the key 'sentence'"),
        ('{"sentence": ["A nurse"]}', "expected a text under"),
        ('{"sentence": " "}', "expected a text under"),
    ],
)
def test_malformed_answers(answer, wrong):
    with pytest.raises(MalformedAnswerError, match=wrong):
        sentence_of(answer, "nurse")


def test_a_fenced_answer_on_several_lines_is_taken():
    answer = 'Here:\n```json\n{"sentence": "A nurse folds\\n a blanket"}\n```'
    assert sentence_of(answer, "nurse") == "A nurse folds a blanket"


def test_every_profession_of_the_set_can_have_a_sentence():
    for axis in axes.wu:
        for word in axis.concepts:
            assert problem(f"At a window, the {word} reads a letter", word) == ""
            assert f" {word} at work" in instruction(word)


def test_triplets_of_sentences(tmp_path):
    file = tmp_path / "mine.toml"
    sentences = (("botanist", 'A botanist draws "a fern"'), ("chemist", "In a lab an old chemist"))
    axis = axes.wu.science.only("botanist", "chemist")
    written = type(axis)(axis.name, axis.template, axis.concepts, "word", "names", sentences)
    file.write_text(as_toml([written]))
    (read,) = read_axes(file)
    assert read == written
    assert sentences_in(file) == {"wu.science": dict(sentences)}
    assert [[prompt.text for prompt in triplet] for triplet in read.triplets()] == [
        ['A botanist draws "a fern"', 'A female botanist draws "a fern"',
         'A male botanist draws "a fern"'],
        ["In a lab an old chemist", "In a lab an old female chemist",
         "In a lab an old male chemist"],
    ]  # fmt: skip
    assert [prompt.text for prompt in read.prompts()] == [text for _, text in sentences]
    assert [triplet.id for triplet in read.only("chemist").triplets()] == ["wu.science-chemist"]


@pytest.mark.parametrize(
    ("sentences", "wrong"),
    [
        (
            'nurse = "A nurse"',
            "1 of 2 concepts have no sentence: vet. Write them.",
        ),
        ('nurse = "A nurse"\nvet = "A dog"', "a sentence names its concept once, got vet='A dog'"),
        ('nurse = 3\nvet = "A vet"', "expected a text, got sentences.nurse=3"),
    ],
)
def test_files_that_are_refused(tmp_path, sentences, wrong):
    file = tmp_path / "mine.toml"
    head = '[care]\ntemplate = "{a word}"\nconcepts = ["nurse", "vet"]\nindicator = "word"\n'
    file.write_text(f"{head}[care.sentences]\n{sentences}\n")
    with pytest.raises(FileFormatError) as error:
        read_axes(file)
    assert wrong in str(error.value)


def test_a_sentence_of_an_axis_of_persons_holds_one(tmp_path):
    file = tmp_path / "mine.toml"
    head = '[hobby]\ntemplate = "a person with {word}"\nconcepts = ["chess"]\n[hobby.sentences]\n'
    file.write_text(f'{head}chess = "A person at a game of chess"\n')
    assert read_axes(file)[0].triplets()[0].masculine.text == "A man at a game of chess"
    file.write_text(f'{head}chess = "A game of chess"\n')
    with pytest.raises(FileFormatError, match="a sentence holds person or people"):
        read_axes(file)


def test_axes_are_no_sentences(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[care]\ntemplate = "{a word}"\nconcepts = ["nurse"]\n')
    with pytest.raises(FileFormatError, match="expected a table of sentences"):
        sentences_in(file)
