"""Runs use a store side by side; what changes it as a whole has it to itself."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from writing import new

from pytest_t2i.errors import StoreError
from pytest_t2i.generation.store import Store, locks
from pytest_t2i.generation.store.entries import contents
from pytest_t2i.generation.store.locks import Owner, maintenance
from pytest_t2i.generation.store.places import Machine
from pytest_t2i.generation.store.pruning import note_needed, prune
from pytest_t2i.generation.store.repair import repair, verify_store
from pytest_t2i.generation.store.thumbnails import origins

READER = """
import sys
from pathlib import Path
from pytest_t2i.generation.store import Store
store = Store(Path(sys.argv[1]))
print(sorted(store.images(["aa1", "ab2"])), flush=True)
sys.stdin.read()
"""
COMMAND = """
import sys
from pathlib import Path
from pytest_t2i.generation.store.locks import maintenance
with maintenance(Path(sys.argv[1])):
    print("begun", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path):
    return filled(tmp_path / "store")


def filled(path):
    store = Store(path)
    store.add_images([new("aa1"), new("ab2")])
    store.close()
    note_needed(path, "20260101T000000-r", ["aa1"])
    return path


@contextmanager
def process(code, *arguments):
    """Another process that has begun, and ends with its input."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        started.stdout.readline()
        yield started
    finally:
        started.kill()
        started.communicate()


CHANGES = {
    "repair": repair,
    "prune": lambda folder: prune(folder, 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_run_that_only_reads_keeps_its_store_as_it_is(folder, change):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.png")}
    with process(READER, folder) as reader:
        with pytest.raises(StoreError, match=rf"using this store \(process {reader.pid} on "):
            change(folder)
        assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*.png")}
        assert contents(folder).user == f"process {reader.pid} on {locks.socket.gethostname()}"
    change(folder)
    assert contents(folder).user == ""
    assert not list((folder / "locks").glob("*.owner"))
    assert not list((folder / "locks").glob("*.process"))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_two_commands_exclude_one_another(folder, change, monkeypatch):
    monkeypatch.setattr(locks, "QUICK", 0.1)
    with process(COMMAND, folder) as command:
        with pytest.raises(StoreError, match=rf"process {command.pid} on .* is changing this sto"):
            change(folder)
        with pytest.raises(StoreError, match="is changing this store"):
            change(folder)
    change(folder)


def test_what_reads_the_whole_store_waits_and_then_says_for_whom(folder, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    with process(COMMAND, folder) as command:
        with pytest.raises(StoreError, match=rf"process {command.pid} on .* has been changing"):
            verify_store(folder)
        with pytest.raises(StoreError, match="has been changing this store"):
            Store(folder)
    with process(READER, folder):  # beside a run it may read
        verify_store(folder)


def test_a_run_that_starts_beside_a_short_command_waits_for_it(folder):
    with process(COMMAND, folder) as command:
        asked = [sys.executable, "-c", READER, str(folder)]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(asked, **pipes) as reader:
            time.sleep(1)
            assert reader.poll() is None
            command.communicate("")
            assert reader.communicate(timeout=30)[0] == "['aa1', 'ab2']\n"


def test_a_killed_command_leaves_the_store_usable(folder):
    with process(COMMAND, folder) as command:
        command.kill()
        command.wait()
        Store(folder).close()
        assert prune(folder, 1).removed == 1


def test_a_killed_run_holds_nothing_even_while_nobody_waits_for_it(folder):
    with process(READER, folder) as reader:
        reader.kill()
        os.waitid(os.P_PID, reader.pid, os.WEXITED | os.WNOWAIT)  # a zombie until communicate()
        assert prune(folder, 1).removed == 1


def test_a_forked_process_does_not_let_go_for_its_parent(folder):
    owner = Owner(folder)
    if not (child := os.fork()):
        owner.let_go()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(StoreError, match="is using this store"):
        prune(folder, 1)
    owner.let_go()


def test_a_store_that_is_forgotten_is_let_go(folder):
    store = Store(folder)
    del store
    assert prune(folder, 1).removed == 1


def test_a_store_that_cannot_be_opened_holds_nothing(folder):
    (folder / "index.sqlite").write_bytes(b"x" * 5000)
    for _ in range(2):
        with pytest.raises(StoreError, match="t2i store repair"):
            Store(folder)
    assert repair(folder).images == 2


def test_a_run_on_another_machine_is_known_by_its_note(folder, monkeypatch):
    monkeypatch.setattr("pytest_t2i.generation.store.places.file_system_of", lambda _: "nfs4")
    elsewhere = Machine(folder, "nfs4", name="another")
    for change in (repair, CHANGES["prune"]):
        with pytest.raises(StoreError, match="another used the store"):
            change(folder)
    elsewhere.let_go()
    assert prune(folder, 1).removed == 1


def test_the_note_of_a_run_that_waits_is_renewed(folder, monkeypatch):
    monkeypatch.setattr("pytest_t2i.generation.store.places.RENEWED_EVERY", 0.05)
    machine = Machine(folder, "nfs4")
    note = machine._note
    os.utime(note, (1, 1))
    for _ in range(100):
        if note.stat().st_mtime > 1:
            break
        time.sleep(0.05)
    machine.let_go()
    assert not note.exists()
    time.sleep(0.2)
    assert not note.exists()


def test_maintenance_can_be_had_again(folder):
    for _ in range(2):
        with maintenance(folder):
            assert not list((folder / "locks").glob("*.owner"))


@pytest.fixture
def umask():
    """As a team has it that shares a folder."""
    before = os.umask(0o002)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_every_file_of_a_store_follows_the_umask(tmp_path):
    opened = Store(tmp_path / "store")
    opened.add_images([new("aa1", latent=np.ones(3, np.float32))])
    note_needed(opened.folder, "run", ["aa1"])
    opened.images(["aa1"])
    there = [path for path in opened.folder.rglob("*") if path.is_file()]
    assert {path.name for path in there} >= {"index.sqlite", "index.sqlite-wal", "index.sqlite-shm"}
    assert {oct(path.stat().st_mode & 0o777) for path in there} == {"0o664"}
    opened.close()
    repair(opened.folder)
    assert (opened.folder / "index.sqlite").stat().st_mode & 0o777 == 0o664


def of_another_user(monkeypatch, *names):
    """Files that this user may read but not write, although the folder is the group's."""
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, *how: Path(path).name not in names and allowed(path, *how)
    )


def listed(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("name", ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"])
@pytest.mark.parametrize("act", [Store, verify_store, lambda folder: prune(folder, 1)])
def test_who_may_not_write_leaves_nothing_and_is_told_whose_it_is(tmp_path, monkeypatch, name, act):
    folder = tmp_path / "store"
    opened = Store(folder)
    opened.add_images([new("aa1")])
    note_needed(folder, "run", ["aa1"])
    opened.close()
    (folder / name).touch()
    before = listed(folder)
    of_another_user(monkeypatch, name)
    owner = (folder / name).owner()
    with pytest.raises(StoreError, match=rf"{name}' \(.*{name} belongs to {owner}\)"):
        act(folder)
    assert listed(folder) == before


@pytest.mark.parametrize("others", [(), ("index.sqlite",)])
def test_who_only_looks_leaves_nothing(tmp_path, monkeypatch, others):
    folder = tmp_path / "store"
    opened = Store(folder)
    opened.add_images([new("aa1")])
    of_another_user(monkeypatch, *others)
    assert contents(folder).models[0].images == 1  # it stands in the journal alone
    opened.close()
    before = listed(folder)
    assert contents(folder).models[0].images == 1
    assert origins(folder, ["aa1"])
    assert listed(folder) == before


def test_a_lock_of_another_user_is_no_traceback(tmp_path, monkeypatch):
    opened = Store(tmp_path / "store")

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(locks.FileLock, "acquire", refused)
    assert contents(opened.folder).user.startswith("process ")


def test_what_killed_runs_left_goes_at_the_next_start(tmp_path):
    opened = Store(tmp_path / "store")
    folder = opened.folder / "locks"
    run = "0123456789abcdef" * 2
    left = [f"{run}{ending}" for ending in (".counts", ".counts.lock", ".progress")]
    left += [f".{run}.counts.abcd0123", "0123456789ab.process", ".0123456789ab.process.abcd0123"]
    for name in left:
        (folder / name).touch()
    Store(opened.folder).close()
    assert {path.name for path in folder.iterdir()} >= set(left)  # they may be those of a run
    opened.close()
    Store(opened.folder).close()
    assert not {path.name for path in folder.iterdir()} & set(left)
    assert {path.name for path in folder.iterdir()} <= {"maintenance", "opening"}
