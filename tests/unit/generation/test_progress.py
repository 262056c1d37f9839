"""Progress: plain lines, and the bar."""

from __future__ import annotations

import io
import re
from threading import Event
from time import sleep

import pytest

from pytest_t2i.generation import progress
from pytest_t2i.generation.progress import Follower, Lines, ProgressBar, Shared


def test_plain_lines_come_every_ten_seconds_and_at_the_end():
    told: list[str] = []
    times = iter([0.0, 4.0, 5.0, 10.0, 12.0])
    lines = Lines(told.append, clock=lambda: next(times))
    lines.start("making images", 30)
    lines.advance(0)
    lines.advance(10)
    lines.advance(10)
    lines.stop()
    assert told == [
        "t2i: making images: 30 images",
        "t2i: making images: 20/30, 2.0 images/s, 0:05 left",
        "t2i: making images: 20/30, 1.7 images/s",
    ]


def test_before_the_first_image_no_rate_and_no_time_left_is_made_up():
    told: list[str] = []
    times = iter([0.0, 30.0, 90.0, 93.0])
    lines = Lines(told.append, clock=lambda: next(times))
    lines.start("making images", 18)
    lines.advance(0)
    lines.advance(3)
    lines.stop()
    assert told[1:] == [
        "t2i: making images: 0/18, 0:30 so far",
        "t2i: making images: 3/18, 30 s an image, 7:30 left",
        "t2i: making images: 3/18, 31 s an image",
    ]
    times = iter([0.0, 3.0])
    lines.start("making images", 18)
    lines.stop()
    assert told[-1] == "t2i: making images: 0/18, in 0:03"


def test_a_batch_that_takes_long_shows_signs_of_life(monkeypatch):
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.01)
    told, three = list[str](), Event()

    def write(line: str) -> None:
        told.append(line)
        if len(told) > 3:
            three.set()

    lines = Lines(write)
    lines.start("making images", 18)
    assert three.wait(60)
    lines.stop()
    assert told[1:4] == ["t2i: making images: 0/18, 0:00 so far"] * 3


def test_the_bar_shows_what_is_done():
    file = io.StringIO()
    bar = ProgressBar(file)
    bar.start("making images", 4)
    bar.advance(4)
    bar.say("a note")
    bar.stop()
    assert "4/4" in file.getvalue()
    assert "a note" in file.getvalue()


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("title", ["examining pictures", "making images with you/" + "long-" * 30])
def test_the_bar_keeps_the_count_and_the_time_left(monkeypatch, columns, title):
    """Under 80 columns a long name of a model has taken the place of both."""
    monkeypatch.setenv("COLUMNS", str(columns))
    file = Terminal()
    bar = ProgressBar(file)
    bar.start(title, 36_000)
    bar.advance(9_000)
    sleep(0.01)  # a speed needs two times
    bar.advance(9_000)
    bar.stop()
    last = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", file.getvalue()).splitlines()[-1]
    assert re.search(r"t2i 18000/36000, \d+:\d\d left", last)
    assert len(last.rstrip()) <= columns


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_followed_from_another_process(tmp_path):
    told: list[str] = []
    shared = Shared(tmp_path / "progress")
    follower = Follower(tmp_path / "progress", Lines(told.append, clock=lambda: 1.0))
    follower.look()
    shared.start("making images", 4)
    shared.advance(2)
    follower.look()
    shared.say("a note")
    shared.advance(2)
    follower.look()
    shared.stop()
    follower.look()
    assert told[0] == "t2i: making images: 4 images"
    assert told[1] == "t2i: a note"
    assert told[2].startswith("t2i: making images: 4/4")
