"""A step that takes its time says that it is still at work."""

from __future__ import annotations

from threading import Event

from pytest_t2i.generation.heartbeat import on_stderr, signs_of_life


def test_a_long_step_is_told_and_how_far_it_is():
    told, came = list[str](), Event()

    def write(line: str) -> None:
        told.append(line)
        came.set()

    with signs_of_life("store verify", write, first=0.01, every=0.01) as sign:
        assert came.wait(60)
        sign.now = "200 files"
        came.clear()
        assert came.wait(60)
        came.clear()
        assert came.wait(60)
    assert told[0] == "store verify: 0:00 so far"
    assert told[-1] == "store verify: 200 files, 0:00 so far"


def test_a_short_step_says_nothing(capsys):
    with signs_of_life("list"):
        pass
    assert capsys.readouterr() == ("", "")


def test_lines_go_beside_the_output(capsys):
    on_stderr("at work")
    assert capsys.readouterr() == ("", "t2i: at work\n")


def test_a_reader_that_is_gone_stops_nothing():
    asked = Event()

    def refuse(_: str) -> None:
        asked.set()
        raise BrokenPipeError

    with signs_of_life("export", refuse, first=0.01, every=0.01):
        assert asked.wait(60)
        asked.clear()
        assert asked.wait(60)
