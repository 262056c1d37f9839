"""Grounded-SAM through tiny random models of the true classes, saved and loaded as real ones."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
import tiny_ram
from installed import needs
from PIL import Image

needs("torchvision")

from pytest_t2i.adapters.finders import grounded_sam, tags
from pytest_t2i.adapters.finders.tags import TagVocabulary
from pytest_t2i.data import Mask
from pytest_t2i.errors import ConfigurationError, FileFormatError, ModelLoadError
from pytest_t2i.protocols import LoadOptions, ObjectFinder

pytestmark = pytest.mark.slow

PICTURES = [
    Image.fromarray(np.random.default_rng(k).integers(0, 256, (48, 64, 3), np.uint8))
    for k in range(2)
]


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("Hat\ntie\nbaseball bat\n\nhat\n")
    return path


def options(vocabulary, **weights):
    parts = {
        "grounding-dino": str(tiny.written(tiny.write_grounding_dino)),
        "sam": str(tiny.written(tiny.write_sam)),
        **weights,
    }
    return LoadOptions(source=str(vocabulary or ""), device="cpu", extra={"weights": parts})


def test_names_boxes_and_masks(vocabulary, monkeypatch):
    monkeypatch.setattr(grounded_sam, "BOX", 0.0)
    monkeypatch.setattr(grounded_sam, "TEXT", 0.0)
    finder = grounded_sam.load(options(vocabulary))
    assert isinstance(finder, ObjectFinder)
    together = finder.objects(PICTURES)
    assert sum(map(len, together)) > 0
    for image, objects in zip(PICTURES, together, strict=True):
        for one in objects:
            assert one.name in {"hat", "tie", "baseball bat"}
            assert isinstance(one.mask, Mask)
            assert (one.mask.width, one.mask.height) == image.size
            assert 0 <= one.box.left <= one.box.right <= image.width
        assert finder.objects([image]) == [objects]
    assert "hat, tie, baseball bat" in finder.provenance["tags"]


def test_florence_tags_where_no_vocabulary_is_given(vocabulary, monkeypatch):
    monkeypatch.setattr(grounded_sam, "BOX", 0.0)
    monkeypatch.setattr(grounded_sam, "TEXT", 0.0)
    monkeypatch.setattr(tags, "NEW_TOKENS", 24)
    florence = str(tiny.written(tiny.write_florence))
    finder = grounded_sam.load(options(None, **{"florence-2": florence}))
    assert finder.provenance["tags"] == "florence-2 <OD>"
    assert any(name.startswith("tags: ") for name in finder.provenance)
    # Random weights write nothing that parses: nothing is looked for, and nothing is seen.
    assert [list(objects) for objects in finder.objects(PICTURES)] == [[], []]
    named = finder._tags
    box = "<loc_10><loc_10><loc_500><loc_500>"
    written = f"</s><s>Hat{box}tie{box}baseball bat{box}hat{box}</s>"
    monkeypatch.setattr(named._processor, "batch_decode", lambda *_, **__: [written])
    assert named.tags(PICTURES[0]) == ["hat", "tie", "baseball bat"]
    pictures = [image.rotate(180) for image in PICTURES]  # what was looked at is remembered
    assert finder.objects(pictures) == grounded_sam.load(options(vocabulary)).objects(pictures)
    assert any(finder.objects(pictures))


def test_nothing_is_nothing(vocabulary, monkeypatch):
    monkeypatch.setattr(grounded_sam, "BOX", 1.1)
    finder = grounded_sam.load(options(vocabulary))
    assert [list(objects) for objects in finder.objects(PICTURES)] == [[], []]


def test_other_words_are_another_finder(vocabulary, tmp_path):
    other = tmp_path / "others.txt"
    other.write_text("cup\n")
    first = grounded_sam.load(options(vocabulary))
    assert grounded_sam.load(options(other)).fingerprint != first.fingerprint


def test_a_phrase_of_several_names_is_one_of_them():
    assert grounded_sam._nearest("baseball bat", ["bat", "baseball bat"]) == "baseball bat"
    assert grounded_sam._nearest("", ["bat"]) == ""


@pytest.mark.parametrize(
    ("text", "message"), [("", "at least one name"), ("a hat. a tie", "without a full stop")]
)
def test_what_is_no_vocabulary_is_refused(tmp_path, text, message):
    path = tmp_path / "names.txt"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        TagVocabulary.read(path)


def test_what_cannot_be_had_is_told(vocabulary, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ConfigurationError, match="expected a vocabulary"):
        grounded_sam.load(options("some/model"))
    with pytest.raises(ModelLoadError, match="no such folder"):
        grounded_sam.load(options(vocabulary, sam=str(tmp_path / "absent")))


@pytest.mark.parametrize("source", ["RAM", "ram", "absent/folder"])
def test_ram_without_its_files_is_told_what_they_are(source):
    with pytest.raises(ConfigurationError, match="a folder with RAM's files") as told:
        grounded_sam.load(LoadOptions(source=source, device="cpu"))
    assert "ram_swin_large_14m.pth" in str(told.value)
    assert "a .txt file with one name a line" in str(told.value)


@pytest.mark.parametrize("asked", ["source", "alias"])
def test_tags_by_ram_where_its_files_are_given(vocabulary, tmp_path, monkeypatch, asked):
    pytest.importorskip("timm")
    monkeypatch.setattr(grounded_sam, "BOX", 0.0)
    monkeypatch.setattr(grounded_sam, "TEXT", 0.0)
    folder = tiny_ram.write(
        tmp_path / "ram", ["Hat", "tie", "Baseball bat"], limits=[0.0, 0.0, 0.0]
    )
    if asked == "source":
        finder = grounded_sam.load(options(folder))
    else:
        finder = grounded_sam.load(options(None, ram=str(folder)))
    assert finder._tags.tags(PICTURES[0]) == ["hat", "tie", "baseball bat"]
    assert finder.provenance["tags"] == "ram ram_tag_list_threshold.txt"
    assert any(finder.objects(PICTURES))
    # The same words from a file name the same objects: only where tags come from differs.
    turned = [image.rotate(90) for image in PICTURES]
    assert finder.objects(turned) == grounded_sam.load(options(vocabulary)).objects(turned)
    assert finder.fingerprint != grounded_sam.load(options(vocabulary)).fingerprint
    (folder / "ram_tag_list_threshold.txt").write_text("1\n1\n1\n")
    unsure = grounded_sam.load(options(folder))
    assert [list(objects) for objects in unsure.objects(turned)] == [[], []]
