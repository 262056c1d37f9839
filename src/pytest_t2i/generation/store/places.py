"""Where a store lies: file systems that many machines share, and what is refused there."""

from __future__ import annotations

import os
import re
import socket
import time
from contextlib import suppress
from pathlib import Path

from pytest_t2i.errors import StoreError
from pytest_t2i.files import write_whole

MOUNTS = Path("/proc/self/mountinfo")
MOUNT = re.compile(r"(?:\S+ ){4}(?P<point>\S+) .*? - (?P<kind>\S+)")
"""A line of it; blanks in the folder's name are written as numbers."""
NETWORK = re.compile(
    r"nfs|cifs|smb|lustre|gpfs|beegfs|ceph|glusterfs|afs|fuse\.sshfs", re.IGNORECASE
)
"""Kinds of file systems that several machines write to."""
OBJECTS = re.compile(r"fuse.*(s3|gcs|goofys|blob|rclone|oss|objectfs)", re.IGNORECASE)
"""Object storage that is mounted as a folder."""
LEASE = 600.0
"""Seconds after which another machine is taken to have ended, unless it renewed its note."""
RENEWED_EVERY = 60.0
"""Seconds between two renewals of this machine's note."""
INSTEAD = (
    "Give each machine a store on its own disk (--t2i-store), and bring them together with "
    "`t2i store merge`."
)


def kind_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """The kind of file system that a folder lies on: "ext4", "nfs4"; "" where it is not told.

    >>> kind_of(Path("/anywhere"), mounts=Path("no such file"))
    ''
    """
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:  # no Linux
        return ""
    found, deepest = "", -1
    for line in lines:
        mount = MOUNT.match(line)
        if mount is None:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), mount["point"]))
        # The last of several mounts in one place is the one that is seen.
        if folder.is_relative_to(point) and len(point.parts) >= deepest:
            found, deepest = mount["kind"], len(point.parts)
    return found


class Machine:
    """This machine as the only one that uses a store on a file system of many.

    On a local disk it does nothing. Its note is a file, as an index that two machines write cannot
    be trusted to say who they are.
    """

    def __init__(self, folder: Path, kind: str | None = None, name: str = "") -> None:
        """Raises StoreError on object storage, and while another machine uses the store."""
        self._file = folder / "locks" / "machine"
        self._name = name or socket.gethostname()
        kind = kind_of(folder.resolve()) if kind is None else kind
        if OBJECTS.search(kind):
            raise StoreError(
                f"{folder} lies on object storage ({kind}), which keeps no locks: no store can be "
                f"kept there. {INSTEAD}"
            )
        self._is_shared, self._renewed = bool(NETWORK.search(kind)), 0.0
        if self._is_shared and (other := self._other()):
            raise StoreError(
                f"{folder} lies on a file system of many machines ({kind}), and {other} used the "
                f"store less than {LEASE / 60:.0f} minutes ago: two machines at once would damage "
                f"its index. Wait until it has ended. {INSTEAD}"
            )
        self.renew()

    def renew(self) -> None:
        """Say that this machine goes on using the store."""
        now = time.monotonic()
        if not self._is_shared or now < self._renewed:
            return
        self._renewed = now + RENEWED_EVERY
        write_whole(self._file, self._name.encode())

    def let_go(self) -> None:
        """Leave the store to others; a process of this machine that goes on says so again."""
        if self._is_shared and self._read() == self._name:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
            self._renewed = 0.0

    def _other(self) -> str:
        """Another machine that uses the store; "" where none does."""
        name = self._read()
        if name in {"", self._name}:
            return ""
        try:
            # By the clock of the file system, which all machines share.
            probe = self._file.with_name(f"clock.{os.getpid()}")
            probe.touch()
            now = probe.stat().st_mtime
            probe.unlink()
            age = now - self._file.stat().st_mtime
        except OSError:
            return ""
        return name if age < LEASE else ""

    def _read(self) -> str:
        try:
            return self._file.read_text(errors="replace").strip()[:200]
        except OSError:
            return ""
