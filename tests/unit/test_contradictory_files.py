"""Files of users that say two things, or nearly what we know: one clear line each."""

from __future__ import annotations

import json

import pytest

from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.data import Limit
from pytest_t2i.errors import FileFormatError, UnknownNameError
from pytest_t2i.generation.spaces import PAPER, SPACES
from pytest_t2i.prompts import read_reference, read_stereotypes
from pytest_t2i.verdicts.limits_file import NAME_PARTS, checked_limit, read_limits

ROW = {
    "concept": "Indian", "attribute": "hat", "positive": "with a hat",
    "negative": "without a hat", "expected": 0.5, "source": "a table",
}  # fmt: skip


def stereotypes(*rows):
    texts = (
        "".join(f"{key} = {json.dumps(value)}\n" for key, value in row.items()) for row in rows
    )
    return "".join(f"[[stereotype]]\n{text}" for text in texts)


def catalogue(path):
    return read_catalogues(Registries().catalogues, path)


MEXICAN = ROW | {"concept": "Mexican"}
STEREOTYPES = {
    "twice with other shares": (
        stereotypes(ROW, ROW | {"expected": 0.3}),
        "number 2: 'Indian' with 'hat' stands in number 1 already, with expected=0.5; got "
        "expected=0.3. Keep one",
    ),
    "twice, spelt otherwise": (
        stereotypes(ROW, ROW | {"attribute": " Hat"}), "stands in number 1 already"
    ),
    "no attribute": (
        stereotypes(ROW | {"attribute": ""}), "a text that is not blank, got attribute=''"
    ),
    "no concept": (stereotypes(ROW | {"concept": " "}), "not blank, got concept=' '"),
    "controls": (
        stereotypes(ROW | {"attribute": "hat\x1b[31m"}),
        "expected a text without line breaks and control characters, got attribute=",
    ),
    "turned around": (stereotypes(ROW | {"source": "\u202ex"}), "got source="),
    "another's prompt": (
        stereotypes(ROW | {"prompt": "a photo of a Mexican person"}, MEXICAN),
        "number 1: expected a prompt about 'Indian', got one about 'Mexican'",
    ),
    "a key misspelt": (
        stereotypes(ROW | {"margn": 0.1}), "margn: unknown key; known are attribute"
    ),
    "nearest": (stereotypes(ROW | {"margn": 0.1}), "Did you mean 'margin'?"),
    "a table misspelt": (
        f"{stereotypes(ROW)}[[sterotype]]\n", "unknown key 'sterotype'. Did you mean 'stereotype'?"
    ),
}  # fmt: skip
LIMITS = {
    "limt": ("[model_bias_score]\nlimt = 0.3\n", "unknown key 'limt'. Did you mean 'limit'?"),
    "beside the limit": (
        "[model_bias_score]\nlimit = 0.2\nreson = 0.1\n", "Did you mean 'reason'?"
    ),
    "a note": ("[model_bias_score]\nlimit = 0.2\nnote = 'x'\n", "unknown key 'note'"),
    "of a margin": (
        "[model_bias_score.margin]\nlimt = 0.3\n", "unknown key 'limt'. Did you mean 'limit'?"
    ),
    "margn": (
        "[model_bias_score.margn]\nlimit = 0.1\n",
        "unknown limit 'model_bias_score.margn'. Did you mean 'model_bias_score.margin'?",
    ),
    "imagee": (
        "[similarity_gap.imagee]\nlimit = 0.1\n",
        "unknown limit 'similarity_gap.imagee'. Did you mean 'similarity_gap.image'?",
    ),
    "a space that is none": ("[similarity_gap.colour]\nlimit = 0.1\n", "unknown limit"),
    "short": ("[similarity_gap]\nimagee = 0.1\n", "unknown key 'imagee'. Did you mean 'image'?"),
}  # fmt: skip
CATALOGUES = {
    "no path of a model": ('[models.mine]\npath = ""\n', "not blank, got path=''"),
    "no path of weights": ('[weights.clip]\nmine = ""\n', "not blank, got ''"),
    "blank in a table": ('[weights.clip]\nmine = { path = " " }\n', "not blank, got path=' '"),
}
REFERENCES = {
    "an empty label": (
        'source = "x"\n[nurse]\nmale = 0.5\n"" = 0.5\n', "the name of a label, got '' = 0.5"
    ),
    "a label of controls": (
        'source = "x"\n[nurse]\nmale = 0.5\n"\\u001b" = 0.5\n', "expected the name of a label"
    ),
}  # fmt: skip
READERS = (
    (read_stereotypes, STEREOTYPES), (read_limits, LIMITS), (catalogue, CATALOGUES),
    (read_reference, REFERENCES),
)  # fmt: skip


@pytest.mark.parametrize(
    ("read", "text", "told"),
    [(read, *case) for read, cases in READERS for case in cases.values()],
    ids=[name for _, cases in READERS for name in cases],
)
def test_one_clear_line(tmp_path, read, text, told):
    file = tmp_path / "file.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError) as refused:
        read(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_meant_is_read(tmp_path):
    file = tmp_path / "file.toml"
    own = ROW | {"prompt": "a photo of a person in a sari"}
    file.write_text(stereotypes(own, MEXICAN, ROW | {"attribute": "beard"}))
    assert len(read_stereotypes(file)) == 3
    file.write_text(
        "[model_bias_score.strict]\nlimit = 0.1\n[similarity_gap]\nimage = 0.3\n"
        '[similarity_gap."timm:resnet-50"]\nlimit = 0.2\n'
    )
    assert list(read_limits(file)) == [
        "model_bias_score.strict", "similarity_gap.image", "similarity_gap.timm:resnet-50",
    ]  # fmt: skip


def test_a_limit_in_a_test_is_held_to_the_same():
    assert checked_limit("similarity_gap.image", 0.1, "") == Limit("similarity_gap.image", 0.1)
    for name in ("similarity_gap.imagee", "model_bias_score.limt", "model_bias_score.margn"):
        with pytest.raises(UnknownNameError, match="Known: "):
            checked_limit(name, 0.1, "")


def test_every_space_may_have_a_limit():
    assert set(NAME_PARTS["similarity_gap"]) == {*SPACES, *PAPER}
