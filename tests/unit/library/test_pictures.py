"""Pictures alone: made once and kept, read from folders; what is wrong is told at once."""

from __future__ import annotations

import csv

import pytest
from PIL import Image

from pytest_t2i import T2IError, load


class Shades:
    """Counts what it makes."""

    fingerprint = "shades-1"

    def __init__(self):
        self.made = 0

    def generate(self, requests):
        from pytest_t2i import Generated

        self.made += len(requests)
        return [Generated(Image.new("RGB", (8, 8), (r.seed % 255, 9, 9))) for r in requests]


@pytest.fixture
def taken(tmp_path):
    def take(model, *prompts, **options):
        images = options.pop("images", None)
        loaded = load(model, **{"store": tmp_path / "store", **options})
        return list(loaded.pictures(prompts, images, progress=False))

    return take


def test_what_is_kept_is_not_made_again(taken):
    model = Shades()
    first = taken(model, "a nurse", "a judge", images=3)
    assert [one.prompt for one in first] == ["a nurse"] * 3 + ["a judge"] * 3
    assert len({one.seed for one in first}) == 6
    more = taken(model, "a nurse", "a judge", images=4)
    assert model.made == 8
    same = {(one.prompt, one.seed): one.image.tobytes() for one in more}
    assert all(same[one.prompt, one.seed] == one.image.tobytes() for one in first)


def test_a_refused_picture_is_none(taken):
    class Prude(Shades):
        def generate(self, requests):
            from pytest_t2i import Generated

            return [Generated(None, refusal="no") for _ in requests]

    assert [one.image for one in taken(Prude(), "a nurse", images=2)] == [None, None]


def test_a_folder_gives_all_that_it_has(taken, tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    with (folder / "manifest.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("file", "prompt", "seed"))
        for k, prompt in enumerate(("a nurse", "a nurse", "a judge")):
            Image.new("RGB", (8, 8), (20 * k, 0, 0)).save(folder / f"{k}.png")
            rows.writerow((f"{k}.png", prompt, k))
    model = f"images:{folder}"
    assert [(one.prompt, one.seed) for one in taken(model)] == [
        ("a nurse", 0), ("a nurse", 1), ("a judge", 2)
    ]  # fmt: skip
    assert len(taken(model, "a nurse", images=1)) == 1
    with pytest.raises(T2IError, match="got none of 1 of 1 prompts, such as 'a nurs'"):
        taken(model, "a nurs")


def test_what_a_function_made_is_gone_when_it_was_read(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    grey = lambda prompts, seeds: [Image.new("RGB", (8, 8), "grey") for _ in prompts]
    assert len(list(load(grey).pictures(["a nurse"], 2, progress=False))) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_lists_nothing_needs_prompts():
    with pytest.raises(T2IError, match="expected prompts"):
        load(Shades()).pictures()
