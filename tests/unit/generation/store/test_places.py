"""Where a store lies: one machine at a time on a shared file system, none on object storage."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import time
from pathlib import Path

import pytest

from pytest_t2i import files
from pytest_t2i.errors import StoreError
from pytest_t2i.files import MOUNTS as MOUNTS_OF_LINUX
from pytest_t2i.files import file_system_of
from pytest_t2i.generation.store import Store, places
from pytest_t2i.generation.store.index import store_error
from pytest_t2i.generation.store.locks import maintenance
from pytest_t2i.generation.store.places import LEASE, Machine
from pytest_t2i.labels.labels_csv import forget
from pytest_t2i.reporting.report_folders import publish
from pytest_t2i.runs.record.manifest import ReportManifest

MOUNTS = r"""
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 0:5 / /home rw shared:9 master:1 - nfs4 server:/home rw,vers=4.2
31 30 0:6 / /home/a\040b rw - fuse.s3fs bucket rw
32 21 0:7 / /data rw - xfs /dev/sdb rw
33 32 0:8 / /data rw - cifs //server/data rw
broken line
"""


@pytest.fixture
def mounts(tmp_path):
    file = tmp_path / "mountinfo"
    file.write_text(MOUNTS)
    return file


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/tmp/.t2i", "ext4"),
        ("/home/me/.t2i", "nfs4"),
        ("/homes/.t2i", "ext4"),
        ("/home/a b/.t2i", "fuse.s3fs"),
        ("/data/.t2i", "cifs"),
    ],
)
def test_the_deepest_and_last_mount_tells(mounts, folder, kind):
    assert file_system_of(Path(folder), mounts) == kind


def test_this_folder_has_a_kind(tmp_path):
    assert file_system_of(tmp_path) or not MOUNTS_OF_LINUX.exists()


@pytest.mark.parametrize("kind", ["ext4", "xfs", "apfs", "overlay", "tmpfs", "9p", ""])
def test_a_local_disk_is_left_alone(tmp_path, kind):
    for name in ("one", "two"):
        Machine(tmp_path, kind, name).renew()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "kind", ["fuse.s3fs", "fuse.gcsfuse", "fuse.goofys", "fuse.rclone", "fuse.blobfuse2"]
)
def test_object_storage_is_refused(tmp_path, kind):
    with pytest.raises(StoreError, match=r"object storage \(fuse\..*t2i store repair"):
        Machine(tmp_path, kind)


@pytest.fixture
def used_by(tmp_path):
    """A machine that uses the folder until the test ends: its heartbeat is a thread."""
    machines = []

    def use(name):
        machines.append(Machine(tmp_path, "nfs4", name))
        return machines[-1]

    yield use
    for machine in machines:
        machine.let_go()


def notes(folder):
    return sorted((folder / "locks").glob(f"*{places.ENDING}"))


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "smb3", "lustre", "fuse.sshfs"])
def test_one_machine_at_a_time(tmp_path, kind):
    first = Machine(tmp_path, kind, "gpu1")
    beside = Machine(tmp_path, kind, "gpu1")
    with pytest.raises(StoreError, match=r"gpu1 used the store less than 10 minutes ago"):
        Machine(tmp_path, kind, "gpu2")
    first.let_go()
    with pytest.raises(StoreError, match="gpu1 used"):  # the process beside it goes on
        Machine(tmp_path, kind, "gpu2")
    beside.let_go()
    second = Machine(tmp_path, kind, "gpu2")
    with pytest.raises(StoreError, match="gpu2 used"):
        Machine(tmp_path, kind, "gpu1")
    second.let_go()
    assert not notes(tmp_path)


def test_one_that_was_killed_is_forgotten(tmp_path, used_by):
    used_by("gpu1")
    (note,) = notes(tmp_path)
    past = note.stat().st_mtime - LEASE - 1
    os.utime(note, (past, past))
    used_by("gpu2")
    assert [one.read_text() for one in notes(tmp_path)] == ["gpu2"]


def test_it_says_so_again_while_it_works(tmp_path, used_by, monkeypatch):
    monkeypatch.setattr(places, "RENEWED_EVERY", 0.01)
    machine = used_by("gpu1")
    notes(tmp_path)[0].unlink()
    time.sleep(0.02)
    machine.renew()
    assert notes(tmp_path)[0].read_text() == "gpu1"


def test_a_store_asks_where_it_lies(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "file_system_of", lambda folder: "fuse.s3fs")
    with pytest.raises(StoreError, match="object storage"):
        Store(tmp_path / "store")
    assert not (tmp_path / "store").exists()


def change_labels(folder):
    forget(folder, "a.png", "ada")


def show_report(folder):
    publish(folder / "of-a-run", folder, ReportManifest("", ""))


def change_store(folder):
    with maintenance(folder):
        pass


@pytest.mark.parametrize("use", [Store, change_store, show_report, change_labels])
@pytest.mark.parametrize("code", ["ENOSYS", "EOPNOTSUPP", "ENOLCK", "EINVAL"])
def test_a_file_system_without_locks_is_named_at_once(tmp_path, monkeypatch, use, code):
    def flock(*_):
        raise OSError(getattr(errno, code), os.strerror(getattr(errno, code)))

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(files, "file_system_of", lambda _: "lustre")
    with pytest.raises(StoreError, match=r"lies on a file system \(lustre\) on which files cannot"):
        use(tmp_path)


def test_locks_that_sqlite_lacks_are_named_too(tmp_path):
    error = sqlite3.OperationalError("locking protocol")
    error.sqlite_errorname = "SQLITE_PROTOCOL"
    assert "files cannot be locked: locking protocol" in str(store_error(tmp_path / "i", error))
