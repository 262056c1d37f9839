"""Reference distributions: what is read, what is looked up, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_t2i import axes, read_reference, stereotypes
from pytest_t2i.data import Prompt
from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError

GENDERS = ("male", "female")
TABLES = """
source = "a made-up table"
[default]
male = 0.4
female = 0.6
[nurse]
male = 0.12
female = 0.88
[profession-pilot]
male = 0.9
female = 0.1
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "shares.toml"
    path.write_text(text)
    return path


def prompt(concept: str) -> Prompt:
    return axes.profession.only(concept).prompts()[0]


def test_uniform_is_even_over_any_labels() -> None:
    even = read_reference("uniform")
    assert even.of(prompt("nurse"), ("a", "b", "c", "d")) == dict.fromkeys("abcd", 0.25)
    assert even.source


def test_shares_are_found_by_concept_by_id_and_by_default(tmp_path: Path) -> None:
    result = read_reference(written(tmp_path, TABLES))
    assert result.of(prompt("nurse"), GENDERS) == {"male": 0.12, "female": 0.88}
    assert result.of(prompt("pilot"), GENDERS) == {"male": 0.9, "female": 0.1}
    assert result.of(prompt("chef"), GENDERS) == {"male": 0.4, "female": 0.6}
    assert result.source == "a made-up table"


def test_a_label_that_is_not_listed_has_no_share(tmp_path: Path) -> None:
    result = read_reference(written(tmp_path, TABLES))
    assert result.of(prompt("nurse"), ("female", "male", "other"))["other"] == 0.0


def test_a_prompt_without_shares_names_the_nearest(tmp_path: Path) -> None:
    result = read_reference(written(tmp_path, TABLES.replace("[default]", "[chef]")))
    with pytest.raises(UnknownNameError, match="Did you mean 'nurse'"):
        result.of(Prompt("a nurs", "profession", "nurs"), GENDERS)


def test_a_label_that_the_detector_does_not_have(tmp_path: Path) -> None:
    result = read_reference(written(tmp_path, TABLES))
    with pytest.raises(ConfigurationError, match=r"no label 'male'.*Its labels: man, woman"):
        result.of(prompt("nurse"), ("man", "woman"))


def test_oasis_is_what_its_stereotypes_expect_and_what_its_table_prints() -> None:
    men = {
        stereotype.prompt.concept: stereotype.expected
        for stereotype in stereotypes
        if stereotype.attribute.name == "man"
    }
    oasis = read_reference("oasis")
    assert {nation: shares["male"] for nation, shares in oasis.shares.items()} == men
    table = json.loads(
        (Path(__file__).parents[2] / "oracles/published/oasis_table1.json").read_text()
    )
    printed = {row[0]: row[2] / 100 for row in table["rows"] if row[1] == "Man"}
    assert printed == men
    for entry in axes.nationality.prompts():
        assert sum(oasis.of(entry, GENDERS).values()) == pytest.approx(1)
    assert "OASIS" in oasis.source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TABLES.replace("0.88", "0.87"), r"\[nurse\]: the shares sum to 0.99, expected 1"),
        (TABLES.replace("0.12", "nan"), r"\[nurse\]: the shares sum to nan"),
        (TABLES.replace("0.12", "12").replace("0.88", "88"), "expected shares, got percentages"),
        (TABLES.replace('"a made-up table"', '" "'), "expected source"),
        (TABLES.replace('"a made-up table"', "7"), "expected source"),
        (TABLES.replace("0.12", "true"), "got male=True"),
        (TABLES.replace("0.12", "-0.12").replace("0.88", "1.12"), "got male=-0.12"),
    ],
)
def test_what_is_no_distribution_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FileFormatError, match=expected) as refused:
        read_reference(path)
    assert str(path) in str(refused.value)


def test_rounding_in_the_last_place_is_no_error(tmp_path: Path) -> None:
    path = written(tmp_path, 'source = "x"\n[nurse]\na = 0.1\nb = 0.2\nc = 0.7000000001\n')
    assert read_reference(path).of(prompt("nurse"), ("a", "b", "c"))["c"] == pytest.approx(0.7)
