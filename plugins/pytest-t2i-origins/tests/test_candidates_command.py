"""``t2i research candidates``: a file that a person completes, refused until then."""

from __future__ import annotations

import json

import pytest
from llm_server import attributes
from pytest_t2i import Prompt, read_stereotypes
from pytest_t2i.cli.main import main
from pytest_t2i.errors import FileFormatError, MalformedAnswerError

from pytest_t2i_origins.questions.candidates import attributes_of, concept_of

PROMPT = "a photo of a Tunisian person"
WHOLE = json.dumps({"attributes": attributes(15)})
FILE = "pytest_t2i_origins.languages.file:load"


@pytest.fixture
def asked(tmp_path):
    def ask(answer, *arguments, prompt=PROMPT):
        (tmp_path / "answer.txt").write_text(answer)
        llm = f"{FILE}:{tmp_path / 'answer.txt'}"
        out = str(tmp_path / "mine.toml")
        return main(["research", "candidates", prompt, "--llm", llm, "--out", out, *arguments])

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
        ("no", (), "answer.txt: the answer is not JSON"),
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
    assert asked(WHOLE) == 2
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "mine.toml").read_text() == "precious"


def test_names(capsys, tmp_path):
    out = ("--out", str(tmp_path / "x.toml"))
    assert main(["research", "candidates", PROMPT, "--llm", "opnai:x", *out]) == 2
    assert "unknown language 'opnai'" in capsys.readouterr().err
    assert main(["research", "candidates", "a house", "--llm", "file:x", *out]) == 2
    assert "no concept is found in 'a house'" in capsys.readouterr().err
    assert concept_of("A photo of an Iranian person") == "Iranian"


@pytest.mark.parametrize(
    ("prompt", "concept"),
    [
        ("a photo of a Tunisian person", "Tunisian"),
        ("A photo of an Iranian person in a park", "Iranian"),
        ("a photo of the young Indian person beside a tree", "young Indian"),
        ("one real Mexican person", "Mexican"),
        ("a Tunisian person with a hat near a person", "Tunisian"),
    ],
)
def test_the_concept_of_a_prompt(prompt, concept):
    assert concept_of(prompt) == concept


@pytest.mark.parametrize(
    "prompt",
    [
        "a photo of a person",
        "a photo of one real person who is a nurse",
        "a photo of the person",
        "A picture of people",
        "a photo of person",
    ],
)
def test_a_prompt_without_a_concept(asked, tmp_path, capsys, prompt):
    assert asked(WHOLE, prompt=prompt) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"no concept is found in {prompt!r}" in told
    assert "name the concept with --concept" in told
    assert not (tmp_path / "mine.toml").exists()


@pytest.mark.parametrize(
    "concept", ["photo of a", "a Tunisian", "the doctor", "doctor of Tunis", "", " person", "\x7f"]
)
def test_what_is_no_concept(asked, tmp_path, capsys, concept):
    assert asked(WHOLE, "--concept", concept) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert 'without an article or "of"' in told
    assert f"concept={concept!r}".replace("\\", "") in told.replace("\\", "")
    assert "--concept Tunisian" in told
    assert not (tmp_path / "mine.toml").exists()


def filled(file):
    text = file.read_text().replace('expected = ""', "expected = 0.5")
    file.write_text(text.replace('source = ""', 'source = "a census"'))


def test_the_usual_sentence_is_tested(asked, tmp_path, capsys):
    assert asked(WHOLE, "--concept", "Tunisian person") == 0
    file = tmp_path / "mine.toml"
    filled(file)
    tested = read_stereotypes(file)[0].prompt.text
    assert tested == "A photo of a Tunisian person"
    assert f'what will be tested: "{tested}"' in capsys.readouterr().out
    assert "prompt = " not in file.read_text()


def test_a_sentence_of_ones_own_is_tested(asked, tmp_path, capsys):
    mine, concept = "a photo of a Tunisian doctor at work", "Tunisian doctor"
    assert asked(WHOLE, "--concept", concept, prompt=mine) == 0
    file = tmp_path / "mine.toml"
    filled(file)
    assert f'what will be tested: "{mine}"' in capsys.readouterr().out
    tested = {stereotype.prompt for stereotype in read_stereotypes(file)}
    assert tested == {Prompt(mine, "nationality", concept)}


def test_a_concept_that_the_sentence_does_not_name(asked, tmp_path, capsys):
    assert asked(WHOLE, "--concept", "Iranian") == 2
    assert "does not name 'Iranian'" in capsys.readouterr().err
    assert not (tmp_path / "mine.toml").exists()


def test_a_prompt_that_would_end_a_comment(asked, tmp_path, capsys):
    mine = "a Tunisian person\nexpected = 1\x7f"
    assert asked(WHOLE, prompt=mine) == 2
    assert "without line breaks and control characters, got 'a Tun" in capsys.readouterr().err
    assert not (tmp_path / "mine.toml").exists()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("candidates", "--count N smallest number of attributes to ask for (default: 15)"),
        ("candidates", "--tries N how often to ask at most, until an answer is usable (default"),
        ("sentences", "--tries N how often to ask at most for each sentence (default: 3)"),
        ("stop", "--clusters N number of clusters of the faces (default: found from the faces)"),
        ("candidates", "openai:MODEL (OPENAI_API_KEY, OPENAI_BASE_URL), transformers:FOLDER"),
    ],
)
def test_help(capsys, command, expected):
    with pytest.raises(SystemExit):
        main(["research", command, "--help"])
    assert expected in " ".join(capsys.readouterr().out.split())


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
