"""``t2i research sentences``: a language model writes, a file keeps, and nothing is asked twice."""

from __future__ import annotations

import pytest
from installed import needs
from llm_server import FAULTS_OF_SENTENCES, serving
from pytest_t2i import axes, read_axes
from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.cli.main import main
from pytest_t2i.errors import FileFormatError

FILE = "pytest_t2i_origins.languages.file:load"


@pytest.fixture
def served(monkeypatch):
    needs("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody-0123")
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)

    def ask(server, *arguments):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return main(["research", "sentences", "--llm", "openai:m", *arguments])

    return ask


def test_every_fault_of_a_server_is_outlived(served, tmp_path, capsys):
    out = tmp_path / "mine.toml"
    with serving(*FAULTS_OF_SENTENCES) as server:
        assert served(server, "--axis", "wu.science", "--out", str(out)) == 0
        assert len(server.asked) == 3 * 20
    assert "20 sentences in" in capsys.readouterr().out
    (science,) = read_axes(out)
    assert science.concepts == axes.wu.science.concepts
    assert science.source == "Wu Table 3; sentences by openai:m"
    assert science.triplets()[0].feminine.text == "A female botanist at work beside a red car"


def test_nothing_is_asked_twice(served, tmp_path, capsys):
    out = tmp_path / "mine.toml"
    topics = "wu.travel_and_hospitality,wu.culinary_and_food_services"
    with serving() as server:
        assert served(server, "--axis", topics, "--out", str(out)) == 0
        # Sommelier stands in both topics.
        assert len(server.asked) == 39
        text = out.read_text()
        assert served(server, "--axis", topics, "--out", str(out)) == 0
        assert (len(server.asked), out.read_text()) == (39, text)
        out.write_text("\n".join(line for line in text.splitlines() if "chef at" not in line))
        with pytest.raises(FileFormatError, match="concepts have no sentence"):
            read_axes(out)
        assert served(server, "--axis", topics, "--out", str(out)) == 0
        assert out.read_text() == text
    assert "0 of them new" in capsys.readouterr().out


def test_what_was_written_before_a_failure_is_kept(served, tmp_path, capsys):
    out = tmp_path / "mine.toml"
    (tmp_path / "answer.json").write_text('{"sentence": "A botanist draws a fern"}')
    written = f"{FILE}:{tmp_path / 'answer.json'}"
    asked = ("--axis", "wu.science", "--out", str(out))
    assert main(["research", "sentences", "--llm", written, *asked]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"ERROR: geologist: {tmp_path / 'answer.json'}: expected 'geologist' once, in" in told
    assert told.endswith(": mend the file.")
    with serving() as server:
        assert served(server, *asked) == 0
        assert len(server.asked) == 19
    (science,) = read_axes(out)
    assert science.prompts()[0].text == "A botanist draws a fern"
    assert science.source == f"Wu Table 3; sentences by {written}; sentences by openai:m"


@pytest.mark.parametrize(
    ("there", "arguments", "expected"),
    [
        (None, ("--axis", "wu.scince"), "unknown axis 'scince'. Did you mean 'science'?"),
        (None, ("--axis", "place"), "--axis place: its prompts name a person"),
        (None, ("--llm", "opnai:m"), "unknown language 'opnai'"),
        ("precious", (), "is not valid TOML"),
        ("[mine]\nsize = 3\n", (), "[mine]: expected a table of sentences"),
        ('["wu.art".sentences]\nwriter = "A writer"\n', ("--axis", "wu.science"),
         "has sentences of wu.art: name these with --axis, too, or name a new file"),
        ('["wu.art".sentences]\nwriter = "A writer and her cat"\n', ("--axis", "wu.art"),
         "[wu.art] 'writer': words indicate gender or another person: her"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, capsys, there, arguments, expected):
    out = tmp_path / "mine.toml"
    if there is not None:
        out.write_text(there)
    llm = () if "--llm" in arguments else ("--llm", f"{FILE}:{tmp_path / 'absent'}")
    assert main(["research", "sentences", *llm, "--out", str(out), *arguments]) == 2
    assert expected in " ".join(capsys.readouterr().err.split())
    assert (out.read_text() if out.exists() else None) == there
