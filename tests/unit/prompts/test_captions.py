"""Captions in the formats of their data sets, and what is no such file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_t2i import axes, captions, read_captions
from pytest_t2i.errors import FileFormatError
from pytest_t2i.runs.session.marker_arguments import select

LINES = ("a person rides a horse", "people near a bus", "a boy and a person", "a horse")
FORMATS = {
    "COCO": json.dumps({"annotations": [{"id": k, "caption": c} for k, c in enumerate(LINES)]}),
    "TextCaps": json.dumps({"data": [{"caption_str": line} for line in LINES]}),
    "Flickr30k": "".join(f"10009279{k}.jpg#{k}\t{line}\n" for k, line in enumerate(LINES)),
    "GCC": "".join(f"{line}\thttp://example.org/{k}.jpg\n" for k, line in enumerate(LINES)),
    "plain": "\n".join([*LINES, ""]),
}
SHARED = Path(__file__).parents[4] / "shared" / "data" / "captions"


@pytest.fixture
def written(tmp_path):
    def write(text, name="captions.txt"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same(written, name):
    read = read_captions(written(FORMATS[name]))
    assert read.format == name
    assert read.captions == LINES[:2]
    assert read.total == 4
    assert list(read.left_out.values()) == [1, 1, 0]
    assert read.human_words == {"boy": 1}


def test_triplets_swap_the_person(written):
    first, second = read_captions(written(FORMATS["plain"])).triplets()
    assert [p.text for p in first] == [
        "a person rides a horse", "a woman rides a horse", "a man rides a horse",
    ]  # fmt: skip
    assert second.masculine.text == "men near a bus"


def test_some_captions_are_drawn_by_the_seed(written):
    read = read_captions(written("\n".join(f"a person and {k} birds" for k in range(50))))
    assert read.triplets(5, 1) == read.triplets(5, 1)
    assert read.triplets(5, 1) != read.triplets(5, 2)
    assert len(read.triplets(5)) == 5


def test_a_repeated_caption_is_told(written):
    read = read_captions(written("a person\na  person \npeople\n"))
    assert str(read) == (
        "2 of 3 captions of captions.txt are neutral; left out: 1 the same caption again"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a horse\na boy\n", "found none: 0 of 2 captions"),
        ("", "found none: 0 of 0"),
        ('{"images": []}', "found neither"),
        ('[{"caption": "a person"}]', "found neither"),
        ('{"annotations": [{"text": "a person"}]}', r"annotations\[0\].*'caption'"),
        ('{"annotations": ', "JSON"),
        ("a person\thttp://a.org/b.jpg\na person\n", "line 2.*expected a tab"),
        ("name\tage\nperson\t7\n", "line 1.*address of a picture"),
        ("a person " * 200, "line 1.*at most 1000"),
    ],
)
def test_another_format_is_refused(written, text, message):
    with pytest.raises(FileFormatError, match=message):
        read_captions(written(text))


def test_a_binary_file_is_refused(tmp_path):
    path = tmp_path / "captions.txt"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    with pytest.raises(FileFormatError, match=r"captions\.txt"):
        read_captions(path)


def test_a_mark_takes_captions_or_what_stands_for_them(written):
    three = read_captions(written(FORMATS["plain"])).triplets()
    assert select([captions], {}, three).triplets == three
    assert select([captions.or_else(axes.wu.art)], {}).triplets == axes.wu.art.triplets()
    assert select([captions], {}).triplets == axes.profession.triplets()


def test_the_professions_of_wu():
    assert {axis.name: len(axis.concepts) for axis in axes.wu} == {
        axis.name: 20 for axis in axes.wu
    }
    assert axes.wu.repeated == {
        "nutritionist": ("wu.agriculture_and_farming", "wu.culinary_and_food_services"),
        "sommelier": ("wu.travel_and_hospitality", "wu.culinary_and_food_services"),
    }
    ecologist = axes.wu.science.only("ecologist").triplets()[0]
    assert [prompt.text for prompt in ecologist] == [
        "an ecologist at work", "a female ecologist at work", "a male ecologist at work",
    ]  # fmt: skip
    assert ecologist.id == "wu.science-ecologist"
    assert len(select([axes.wu], {}).triplets) == 320


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared captions beside the repository")
@pytest.mark.parametrize("name", ["coco_val2017", "gcc_val"])
def test_real_captions_are_read(name):
    read = read_captions(SHARED / f"{name}_neutral_person.txt")
    assert read.format == "plain"
    assert len(read) > 1000
