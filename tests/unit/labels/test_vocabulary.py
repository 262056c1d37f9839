"""Label sets of any kind: ready ones, lists, TOML files."""

from __future__ import annotations

import pytest
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.labels import Label

AGES = """
name = "ages"
rule = "plurality"
[[label]]
name = "under 18"
key = "1"
colour = "#0072b2"
meaning = "a child"
[[label]]
name = "adult"
"""


def test_monk_has_ten_tones_with_keys_and_colours_of_their_own():
    tones = [choice for choice in labels.named("monk").choices if choice.clear]
    assert [tone.name for tone in tones] == [f"monk-{k}" for k in range(1, 11)]
    assert [tone.key for tone in tones] == list("1234567890")
    light = [int(tone.colour[1:3], 16) for tone in tones]
    assert light[0] - light[-1] > 150
    assert len({tone.colour for tone in tones}) == 10


@pytest.mark.slow
def test_age_has_the_groups_of_the_detector_for_them():
    fairface = pytest.importorskip("pytest_t2i.adapters.detectors.fairface")
    labels.named("age").check_detector("fairface-age", fairface.AGES, "here")


def test_a_list_gets_keys_and_the_two_labels_every_set_has():
    given = labels.named("child, adult,  aged")
    assert given.clear == ("child", "adult", "aged")
    assert [(choice.name, choice.key) for choice in given.choices] == [
        ("child", "c"), ("adult", "a"), ("aged", "g"), ("low_quality", "l"), ("others", "o"),
    ]  # fmt: skip


def test_a_first_letter_that_is_taken_leaves_the_first_free_key():
    keys = [choice.key for choice in labels.named("old,low,under,apt,able").choices]
    assert len(set(keys)) == 7
    assert not set(keys) & set("u?")
    assert keys[-2:] == ["l", "o"]


def test_a_file_is_read_and_kept_beside_the_labels(tmp_path):
    path = tmp_path / "ages.toml"
    path.write_text(AGES)
    given = labels.named(str(path))
    assert (given.rule, given.choices[0].meaning) == ("plurality", "a child")
    folder = tmp_path / "set"
    folder.mkdir()
    labels.choose_vocabulary(folder, given)
    assert labels.vocabulary_of(folder) == given
    labels.record(folder, Label("a.png", "under 18", "ada"))
    labels.compact(folder)
    assert labels.read_labels(folder) == [Label("a.png", "under 18", "ada")]
    with pytest.raises(ValueError, match=r"one of under 18, adult, low_quality, others"):
        labels.record(folder, Label("a.png", "male", "ada"))
    with pytest.raises(ConfigurationError, match=r"none of male, female: under 18\. Label another"):
        labels.choose_vocabulary(folder, labels.named("gender"))


def test_the_papers_labels_need_no_file(tmp_path):
    labels.choose_vocabulary(tmp_path, labels.named("gender"))
    assert list(tmp_path.iterdir()) == []
    assert labels.vocabulary_of(tmp_path).is_gender


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"no \[\[label\]\]"),
        ("[[label]]\nname = 'a'", "expected at least two labels that count, got a"),
        (
            "[[label]]\nname='a'\n[[label]]\nname='a'",
            "expected a distinct name for every label, got 'a'",
        ),
        (
            "[[label]]\nname='a'\nkey='x'\n[[label]]\nname='b'\nkey='x'",
            "a distinct key for every label, got 'x'",
        ),
        ("[[label]]\nname='a'\nkey='u'\n[[label]]\nname='b'", "got key='u' of a"),
        ("[[label]]\nname='a'\ncolour='red'\n[[label]]\nname='b'", "got colour='red' of a"),
        ("[[label]]\nname='a,b'\n[[label]]\nname='b'", "got name='a,b'"),
        ("[[label]]\nname='adjudicated'\n[[label]]\nname='b'", "got name='adjudicated'"),
        ("[[label]]\nname=3\n[[label]]\nname='b'", "expected a text, got label.0..name=3"),
        ("rule='best'\n[[label]]\nname='a'\n[[label]]\nname='b'", "got rule='best'"),
        ("colour='#ffffff'\n[[label]]\nname='a'", "colour"),
    ],
)
def test_what_is_no_label_set_is_told(tmp_path, text, says):
    (tmp_path / "labels.toml").write_text(text)
    with pytest.raises(FileFormatError, match=says):
        labels.vocabulary_of(tmp_path)


def test_an_unknown_set_is_told_with_those_that_are_known():
    with pytest.raises(ConfigurationError, match=r"Did you mean 'monk'\? Known: age, gender"):
        labels.named("mon")


@pytest.mark.parametrize(
    ("rule", "final"),
    [
        ("unanimous", {"all": "male", "most": "unsettled", "tie": "unsettled"}),
        ("majority", {"all": "male", "most": "male", "tie": "unsettled"}),
        ("plurality", {"all": "male", "most": "male", "tie": "unsettled"}),
    ],
)
def test_rules_of_four_annotators(rule, final):
    said = {"all": "mmmm", "most": "mmmf", "tie": "mmff", "leading": "mmfl"}
    words = {"m": "male", "f": "female", "l": "low_quality"}
    given = [
        Label(file, words[letter], str(k))
        for file, letters in said.items()
        for k, letter in enumerate(letters)
    ]
    expected = final | {"leading": "male" if rule == "plurality" else "unsettled"}
    assert labels.agreed(given, rule) == dict(sorted(expected.items()))


def test_of_two_a_majority_is_both(tmp_path):
    two = [Label("a", "male", "ada"), Label("a", "female", "bo"), Label("b", "male", "ada")]
    assert labels.agreed(two) == labels.agreed(two, "unanimous")


def test_the_rule_of_a_set_decides_its_labels(tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    said = [Label("a.png", w, str(k)) for k, w in enumerate(("male", "male", "female"))]
    labels.write_labels(tmp_path, said)
    assert [image.label for image in labels.load_labelled_set(tmp_path)] == ["male"]
    (tmp_path / "labels.toml").write_text(
        'rule = "unanimous"\n[[label]]\nname = "male"\n[[label]]\nname = "female"\n'
    )
    assert [image.label for image in labels.load_labelled_set(tmp_path)] == ["unsettled"]
