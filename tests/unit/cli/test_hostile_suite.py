"""What ``t2i init`` and its kin write is read as it was given, whatever a word or a name holds."""

from __future__ import annotations

import random
import re
import tomllib
from types import SimpleNamespace

import pytest
from pytest_t2i_origins.questions.sentences import as_toml

from pytest_t2i.cli.init import _render
from pytest_t2i.cli.main import main
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.read_files import quoted

yaml = pytest.importorskip("yaml")
SIGNS = (
    *"ab\"'`\\{}[]:#&*!|>%@,-?=~$()\x00\x07\x1b\x7f\x85\xa0\u2028\u2029\u202e\ufeff\u0301",
    *(
        "\t",
        "\r",
        "\n",
        " ",
        "\r\n",
        "${{",
        "}}",
        "{{",
        "{%",
        "é",
        "\U0001f600",
        "\U000e0001",
        "#}",
    ),
    *("null", "true", "0x1", "---", "...", "\\u0085", "secrets.TOKEN", "yes", "~"),
)
OURS = 2
"""Expressions of the workflow itself."""


def hostile(draw):
    return "".join(draw.choices(SIGNS, k=draw.randrange(1, 9)))


def workflow(model):
    return _render("fairness.yml.j2", {"model": model, "detector": model, "keys": ()})


def test_a_workflow_holds_every_name_as_it_is():
    draw = random.Random(49)
    for _ in range(400):
        model = hostile(draw)
        text = workflow(model)
        (job,) = yaml.safe_load(text)["jobs"].values()
        assert job["steps"][-1]["with"]["model"] == model
        assert job["steps"][-1]["with"]["detector"] == model
        assert all(sign.isprintable() or sign == "\n" for sign in text)


def test_words_hold_every_word_as_it_is():
    draw = random.Random(50)
    for _ in range(300):
        words = [hostile(draw) for _ in range(3)]
        axis = SimpleNamespace(
            name="profession", template=words[0], indicator=words[1], concepts=words,
            source="", sentences=[(words[2], words[0])],
        )  # fmt: skip
        text = _render("words.toml.j2", {"axes": [axis]})
        read = tomllib.loads(text)["profession"]
        assert (read["template"], read["concepts"]) == (words[0], words)
        written = tomllib.loads(as_toml([axis]))["profession"]
        assert written["sentences"] == {words[2]: words[0]}


@pytest.mark.parametrize("text", ["a\udcffb", "\ud83d", "\udc00\ud800"])
def test_half_a_surrogate_pair_is_refused(text):
    with pytest.raises(ConfigurationError, match="expected a text in UTF-8"):
        quoted(text)


@pytest.mark.parametrize(
    "option",
    [
        ("--model", "${{ secrets.TOKEN }}"),
        ("--model", "a${{github.event.pull_request.title}}b"),
        ("--model", "x\n${{ 1 }}"),
        ("--detector", "${{ matrix.detector }}"),
        ("--model", "$" + "{{"),
    ],
)
def test_an_expression_is_refused_before_anything_is_written(tmp_path, capsys, option):
    assert main(["init", str(tmp_path), "--words", "nurse,pilot", *option]) == 2
    assert f"{option[0]}: expected a name, got" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "model"),
    [
        ("nurse,pi\u0085lot", "a\u0085b"),
        ("=1+1,pilot", "- x: y"),
        ('nu"rse,pi\\lot', 'm"\nx: y'),
        ("${{ secrets.TOKEN }},pilot", "m # no comment"),
        ("nu\u2028rse,pilot", "\ufeffm"),
    ],
)
def test_a_whole_suite_is_read_as_it_was_given(tmp_path, words, model):
    command = ["init", str(tmp_path), "--words", words, "--model", model]
    status = main(command)
    if status == 2:  # refused, and nothing is written
        assert list(tmp_path.iterdir()) == []
        return
    text = (tmp_path / ".github/workflows/fairness.yml").read_text(encoding="utf-8")
    (job,) = yaml.safe_load(text)["jobs"].values()
    assert job["steps"][-1]["with"]["model"] == model.strip()
    assert len(re.findall(r"\$\{\{", text)) == OURS
    table = tomllib.loads((tmp_path / "fairness/words.toml").read_text(encoding="utf-8"))
    concepts = {word for axis in table.values() for word in axis["concepts"]}
    assert concepts == set(words.split(","))
    compile((tmp_path / "fairness/test_fairness.py").read_text(), "suite", "exec")
