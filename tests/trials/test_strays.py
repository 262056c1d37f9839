"""Names that lead out of their folder are refused by every document that names files."""

from __future__ import annotations

import signal

import pytest
from strays import DOORS, NAMES, is_taken, write_surroundings


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_no_name_leads_out(tmp_path, monkeypatch, door):
    folder = tmp_path / "here"
    names = write_surroundings(folder)
    monkeypatch.chdir(folder)
    signal.alarm(60)  # rather the end of this process than a wait for a pipe's other end
    taken = [words for words, name in names.items() if is_taken(door, folder, name)]
    signal.alarm(0)
    assert len(names) == len(NAMES)
    assert not taken
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_picture_of_the_folder_is_read(tmp_path, monkeypatch, door):
    folder = tmp_path / "here"
    write_surroundings(folder)
    monkeypatch.chdir(folder)
    assert is_taken(door, folder, "a.png")
