"""``t2i sample``: what it copies, and what it does not although a run.json names it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_t2i.cli.sample import choose


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


def test_names_that_no_file_can_have_are_not_there():
    assert choose(record("x" * 5000, "a\0b"), 3, 0) == []


def test_only_neutral_prompts_are_sampled(run):
    image = run.parents[1] / ".t2i/images/a.png"
    assert choose(record(image, image), 1, 0)[0][1:] in {("a nurse", 0), ("a nurse", 1)}
    assert len(choose(record(image, image), 5, 0)) == 2
    assert choose(record(image, variant="feminine"), 5, 0) == []
