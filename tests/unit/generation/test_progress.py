"""Progress: plain lines, and the bar."""

from __future__ import annotations

import io

from pytest_t2i.generation.progress import Bar, Follower, Lines, Shared


def test_plain_lines_come_every_ten_seconds_and_at_the_end():
    told: list[str] = []
    times = iter([0.0, 5.0, 10.0, 12.0])
    lines = Lines(told.append, clock=lambda: next(times))
    lines.start("making images", 30)
    lines.advance(10)
    lines.advance(10)
    lines.stop()
    assert told == [
        "t2i: making images: 30 images",
        "t2i: making images: 20/30, 2.0 images/s, 0:05 left",
        "t2i: making images: 20/30, 1.7 images/s, 0:06 left",
    ]


def test_the_bar_shows_what_is_done():
    file = io.StringIO()
    bar = Bar(file)
    bar.start("making images", 4)
    bar.advance(4)
    bar.say("a note")
    bar.stop()
    assert "4/4" in file.getvalue()
    assert "a note" in file.getvalue()


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
