"""``t2i candidates``: a file that a person completes, refused until then."""

from __future__ import annotations

import json

import pytest
from llm_server import attributes

from pytest_t2i import read_stereotypes
from pytest_t2i.cli.main import main
from pytest_t2i.errors import FileFormatError, MalformedAnswerError
from pytest_t2i.prompts.candidates import attributes_of, concept_of

PROMPT = "a photo of a Tunisian person"
FILE = "pytest_t2i.adapters.languages.file:load"


@pytest.fixture
def asked(tmp_path):
    def ask(answer, *arguments):
        (tmp_path / "answer.txt").write_text(answer)
        llm = f"{FILE}:{tmp_path / 'answer.txt'}"
        out = str(tmp_path / "mine.toml")
        return main(["candidates", PROMPT, "--llm", llm, "--out", out, *arguments])

    return ask


def test_candidates_are_refused_until_they_are_filled_in(asked, tmp_path, capsys):
    rows = attributes(15)
    rows[0]["attribute"] = 'a "quoted" \\ name'
    assert asked("Here:\n```json\n" + json.dumps({"attributes": rows}) + "\n```\n") == 0
    assert "15 candidates in" in capsys.readouterr().out
    file = tmp_path / "mine.toml"
    with pytest.raises(FileFormatError, match="15 of 15 stereotypes are not filled in") as told:
        read_stereotypes(file)
    assert "Tunisian: thing 1 (expected, source)" in str(told.value)

    text = file.read_text().replace('expected = ""', "expected = 0.5")
    file.write_text(text)
    with pytest.raises(FileFormatError, match=r"thing 1 \(source\)"):
        read_stereotypes(file)
    file.write_text(text.replace('source = ""', 'source = "a census"'))
    first, *_ = read_stereotypes(file)
    assert first.attribute.name == 'a "quoted" \\ name'
    assert (first.prompt.concept, first.expected, first.source) == ("Tunisian", 0.5, "a census")


@pytest.mark.parametrize(
    ("answer", "arguments", "expected"),
    [
        ("no", (), "no usable answer in 3 tries. An earlier answer could not be used: the answer"),
        (json.dumps({"attributes": attributes(3)}), (), "expected at least 15 attributes, got 3"),
        ("[]", ("--count", "0"), None),
    ],
)
def test_what_is_refused(asked, tmp_path, capsys, answer, arguments, expected):
    if expected is None:
        with pytest.raises(SystemExit):
            asked(answer, *arguments)
        return
    assert asked(answer, *arguments) == 2
    assert expected in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "mine.toml").exists()


def test_a_file_that_is_there_is_kept(asked, tmp_path, capsys):
    (tmp_path / "mine.toml").write_text("precious")
    assert asked(json.dumps(attributes(15))) == 2
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "mine.toml").read_text() == "precious"


def test_names(capsys, tmp_path):
    out = ("--out", str(tmp_path / "x.toml"))
    assert main(["candidates", PROMPT, "--llm", "opnai:x", *out]) == 2
    assert "unknown language 'opnai'" in capsys.readouterr().err
    assert main(["candidates", "a house", "--llm", "file:x", *out]) == 2
    assert "no concept is seen in 'a house'" in capsys.readouterr().err
    assert concept_of("A photo of an Iranian person") == "Iranian"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", "is not JSON"),
        ("{}", "expected a list of attributes"),
        ("[1]", "attribute 1: expected a table"),
        ('[{"attribute": "hat"}]', "expected a text as 'positive', got None"),
        ('[{"attribute": "hat", "positive": "a", "negative": 3}]', "as 'negative', got 3"),
        ('[{"attribute": "hat", "positive": "a", "negative": "A"}]', "both descriptions say 'a'"),
        (json.dumps([{"attribute": "x" * 301, "positive": "a", "negative": "b"}]), "at most 300"),
        (json.dumps(attributes(1) * 2), "is there twice"),
        (json.dumps(attributes(1))[:-10], "is not JSON"),
    ],
)
def test_malformed_answers(answer, expected):
    with pytest.raises(MalformedAnswerError, match=expected):
        attributes_of(answer)
