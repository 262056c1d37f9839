"""A test that takes long says so past pytest's capturing."""

from __future__ import annotations

import os
from functools import partial
from threading import Event

from pytest_t2i.generation.heartbeat import signs_of_life
from pytest_t2i.plugin import run


def test_a_long_test_is_told_where_its_own_output_does_not_go(capfd, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "signs_of_life", partial(signs_of_life, first=0.01, every=60.0))
    told, write = Event(), os.write

    def written(*how):
        done = write(*how)
        told.set()
        return done

    monkeypatch.setattr(run.os, "write", written)
    aside = run.Aside()
    kept = os.dup(run.ERRORS)
    with (tmp_path / "captured").open("wb") as captured:
        os.dup2(captured.fileno(), run.ERRORS)
        try:
            with aside.signs("test_half_step is measured"):
                assert told.wait(60)
        finally:
            os.dup2(kept, run.ERRORS)
            os.close(kept)
    assert capfd.readouterr().err == "\nt2i: test_half_step is measured: 0:00 so far\n"
    assert (tmp_path / "captured").read_bytes() == b""
    aside.close()
    aside._write("nobody reads it")
    assert capfd.readouterr().err == ""
