"""Dependency groups: objects by what brought them in, on masks that are drawn here."""

from __future__ import annotations

import numpy as np
import pytest
from installed import needs

needs("textblob")
needs("lemminflect")

from pytest_t2i import triplet
from pytest_t2i.audits.dependencies.groups import GROUPS, maps_of, placed, tally, word_mask
from pytest_t2i.audits.dependencies.measure import Dependencies
from pytest_t2i.audits.objects.counts import Member
from pytest_t2i.data import Box, FoundObject, Mask
from pytest_t2i.errors import ConfigurationError, DetectorError
from pytest_t2i.prompts.words_in_prompts import attention_words, lemma, nouns

PROMPT = "young women having a picnic at the park in the evening"
SIDE = 16


def place(left, right):
    pixels = np.zeros((SIDE, SIDE), bool)
    pixels[:, left:right] = True
    return pixels


def seen(name, left, right, *, mask=True):
    box = Box(left, 0, right, SIDE)
    return FoundObject(name, box, Mask.of(place(left, right)) if mask else None)


# Women at the left, the picnic beside them, the park nowhere in particular.
ATTENTION = {"women": place(0, 4), "picnic": place(4, 12), "park": place(15, 16)}


def attention():
    rows = [ATTENTION.get(word, np.zeros((SIDE, SIDE))) for word in attention_words(PROMPT)]
    return np.array(rows, dtype=np.float16)


@pytest.mark.slow
@pytest.mark.parametrize("mask", [True, False])
def test_the_picnic_of_wu(mask):
    objects = [
        seen("women", 0, 12, mask=mask),  # a third of her is looked at: enough for people
        seen("picnic", 4, 12, mask=mask),
        seen("basket", 5, 8, mask=mask),
        seen("park", 0, 16, mask=mask),
        seen("grass", 9, 16, mask=mask),
    ]
    groups = tally(placed(PROMPT, objects, maps_of(PROMPT, attention()), (SIDE, SIDE)))
    assert groups == {
        "explicitly_guided": {"woman": 1, "picnic": 1},
        "implicitly_guided": {"basket": 1},
        "explicitly_independent": {"park": 1},
        "implicitly_independent": {"grass": 1},
        "hidden": {"evening": 1},
    }


@pytest.mark.slow
def test_people_need_less_than_things():
    maps = maps_of(PROMPT, attention())
    for name, group in (("woman", "explicitly_guided"), ("bench", "implicitly_independent")):
        groups = tally(placed(PROMPT, [seen(name, 0, 12)], {"woman": maps["woman"]}, (SIDE, SIDE)))
        assert groups[group] == {name: 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "group"), [("person", "explicitly_guided"), ("man", "implicitly_guided")]
)
def test_a_person_is_the_woman_of_the_prompt_and_a_man_is_not(name, group):
    groups = tally(placed(PROMPT, [seen(name, 0, 12)], maps_of(PROMPT, attention()), (SIDE, SIDE)))
    assert groups[group] == {name: 1}
    assert ("woman" in groups["hidden"]) == (name == "man")


def test_attention_is_normalised_and_enlarged():
    small = np.array([[0.1, 0.1, 0.2, 0.2]])
    assert word_mask(small, (8, 2)).tolist() == [[False] * 4 + [True] * 4] * 2
    assert not word_mask(np.full((2, 2), 0.5), (4, 4)).any()


@pytest.mark.slow
def test_masks_and_attention_of_another_size_are_told():
    with pytest.raises(ValueError, match="mask of 'hat' is 16 x 16 pixels, its picture 32 x 32"):
        placed(PROMPT, [seen("hat", 0, 4)], maps_of(PROMPT, attention()), (32, 32))
    with pytest.raises(ValueError, match="must hold 10 words"):
        maps_of(PROMPT, attention()[:3])


def test_nouns_and_their_singular():
    assert dict(nouns(PROMPT)) == {
        "woman": "women", "picnic": "picnic", "park": "park", "evening": "evening",
    }  # fmt: skip
    assert [lemma(w) for w in ("people", "Dogs", "baseball bats", "TV")] == [
        "person", "dog", "baseball bat", "tv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("prompt", "things"),
    [
        ("a photo of one real person with a cleaner", {"photo", "person", "cleaner"}),
        ("a man with a red cleaner, smiling", {"man", "cleaner"}),
        ("a woman uses a cleaner and a wrench", {"woman", "cleaner", "wrench"}),
        ("a person in a room with a blue sink", {"person", "room", "sink"}),
        ("a red and black cup", {"cup"}),
        ("a grilled, glazed donut", {"donut"}),
        ("a few of the men", {"man"}),
        ("a close up of a young black man", {"man"}),
        ("a person who is a little tired", {"person"}),
    ],
)
def test_what_has_an_article_is_a_thing(prompt, things):
    """TextBlob takes cleaner for a comparative, wrench for a verb, sink for an adjective."""
    assert {noun for noun, _ in nouns(prompt)} == things


class Seen:
    """Observations of a model that shows attention, or not."""

    def __init__(self, *, shows):
        self.shows = shows

    def draws_anew(self):
        return False

    def objects(self, prompt, seeds, finder):
        name = "tie" if "man" in prompt.text.split() else "cup"
        return [(seen(name, 2, 6), seen("bird", 0, 4)) for _ in seeds]

    def arrays(self, prompt, seeds, name):
        words = attention_words(prompt.text)
        maps = np.array([place(0, 4) if w == "bird" else np.zeros((SIDE, SIDE)) for w in words])
        return [maps if self.shows else None for _ in seeds]

    def pictures(self, prompt, seeds):
        from PIL import Image

        return [Image.new("RGB", (SIDE, SIDE)) for _ in seeds]


def dependencies(*, shows=True, text="a person and a bird"):
    members = tuple(Member(triplet(text), (k, k + 100)) for k in range(10))
    return Dependencies(members, "things", Seen(shows=shows), 0.95, 0, 5)


def test_groups_of_triplets():
    found = dependencies()
    assert len(found.images) == 60
    assert found.presence("explicitly_guided").estimate == 1.0
    assert found.presence("hidden").estimate == 0.0
    assert found.names["implicitly_independent"] == {"tie", "cup"}
    assert found.prevalent("explicitly_guided") == [("bird", 60)]
    assert found.intersection("explicitly_guided", "nouns") == 1.0
    assert found.intersection("hidden", "nouns") is None
    independence = found.independence("implicitly_independent", "feminine", "masculine")
    assert independence.interval.high < 0.05
    assert found.independence("explicitly_guided").interval is None
    tie = found.group("implicitly_independent").bias_score("tie")
    assert float(tie) == 1.0
    with pytest.raises(ConfigurationError, match="'guided'"):
        found.group("guided")


def test_several_groups_are_judged_as_one():
    found = dependencies()
    both = found.group("explicitly_guided", "implicitly_independent")
    assert both.table.names == ("bird", "cup", "tie")
    assert float(found.pooled_bias_score("explicitly_guided", "implicitly_independent")) == 0.5
    assert float(found.highest_bias_score("explicitly_guided", "implicitly_independent")) in (0, 1)
    with pytest.raises(ConfigurationError, match="got ''"):
        found.group()


def test_an_example_is_the_clearest_picture_of_the_most_frequent_object():
    bird = dependencies().example("explicitly_guided").placed
    assert (bird.name, bird.noun, bird.covered) == ("bird", "bird", 1.0)
    assert np.array_equal(bird.region, place(0, 4))
    alone = dependencies().example("implicitly_independent")
    # Half of either lies under the bird's attention; cups are twice as frequent as ties.
    assert (alone.placed.name, alone.placed.covered, alone.seed) == ("cup", 0.5, 0)
    hidden = dependencies(text="a person and a kite").example("hidden").placed
    assert (hidden.name, hidden.region.any()) == ("kite", False)
    assert dependencies().example("hidden") is None


def test_a_model_without_attention_is_no_evidence():
    found = dependencies(shows=False)
    assert found.images == []
    assert all(found.presence(group) is None for group in GROUPS)
    assert "does not show word attention" in found.independence("hidden").absent
    assert found.highest_bias_score("hidden").interval is None


def test_masks_that_do_not_fit_are_blamed_on_the_prompt():
    found = dependencies()
    found.observations.pictures = lambda prompt, seeds: [
        __import__("PIL.Image").Image.new("RGB", (32, 32)) for _ in seeds
    ]
    with pytest.raises(DetectorError, match=r"a person and a bird.*16 x 16 pixels"):
        _ = found.images
