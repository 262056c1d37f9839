"""``t2i sample``: what it copies, and what it does not although a run.json names it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_t2i.cli.sample import check_images, choose
from pytest_t2i.errors import ConfigurationError


def record(*files, variant="neutral"):
    images = [SimpleNamespace(file=file and str(file), seed=k) for k, file in enumerate(files)]
    prompt = SimpleNamespace(text="a nurse", variant=variant, images=images)
    return SimpleNamespace(prompts=[prompt])


@pytest.fixture
def run(tmp_path):
    """A project with a store and a report, and a file beside it that is no one's business."""
    for name in ("project/.t2i/images/a.png", "project/reports/run.json", "secret.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path / "project/reports/run.json"


def test_images_of_the_store_above_the_run_are_copied(run, monkeypatch):
    image = run.parents[1] / ".t2i/images/a.png"
    check_images(record(image, None, "gone.png"), run, None)
    monkeypatch.chdir(run.parents[1])
    check_images(record(".t2i/images/a.png"), run.relative_to(run.parents[1]), None)
    (run.parent / "beside.png").write_text("x")
    check_images(record(run.parent / "beside.png"), run, None)


WAYS_OUT = ("../../secret.png", "link.png", "out/secret.png")
ELSEWHERE = ("secret.png", *(f"project/.t2i/{way}" for way in WAYS_OUT))


@pytest.mark.parametrize("name", ELSEWHERE)
def test_files_elsewhere_are_refused_unless_their_store_is_named(run, name):
    top = run.parents[2]
    (top / "project/.t2i/link.png").symlink_to(top / "secret.png")
    (top / "project/.t2i/out").symlink_to(top)
    named = record(top / "project/.t2i/images/a.png", top / name)
    with pytest.raises(ConfigurationError, match=r"names 1 of 2 files outside .*--store DIR"):
        check_images(named, run, None)
    check_images(named, run, top)
    with pytest.raises(ConfigurationError, match="names 2 of 2 files"):
        check_images(named, run, run.parent)


def test_names_that_no_file_can_have_are_not_there(run):
    assert choose(record("x" * 5000, "a\0b"), 3, 0) == []
    check_images(record("x" * 5000, "a\0b"), run, None)


def test_only_neutral_prompts_are_sampled(run):
    image = run.parents[1] / ".t2i/images/a.png"
    assert choose(record(image, image), 1, 0)[0][1:] in {("a nurse", 0), ("a nurse", 1)}
    assert len(choose(record(image, image), 5, 0)) == 2
    assert choose(record(image, variant="feminine"), 5, 0) == []
