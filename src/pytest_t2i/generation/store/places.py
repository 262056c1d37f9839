"""Where a store lies: file systems that many machines share, and what is refused there."""

from __future__ import annotations

import math
import os
import re
import socket
import time
import uuid
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
ENDING = ".machine"
"""Of the notes of processes."""
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

    On a local disk it does nothing. Each process leaves a note of its own: a file, as an index that
    two machines write cannot be trusted to say who they are.
    """

    def __init__(self, folder: Path, kind: str | None = None, name: str = "") -> None:
        """Raises StoreError on object storage, and while another machine uses the store."""
        kind = kind_of(Path(os.path.realpath(folder))) if kind is None else kind
        if OBJECTS.search(kind):
            raise StoreError(
                f"{folder} lies on object storage ({kind}), which keeps no locks: no store can be "
                f"kept there. {INSTEAD}"
            )
        self._is_shared, self._renewed = bool(NETWORK.search(kind)), -math.inf
        self._name = name or socket.gethostname()
        self._note = folder / "locks" / f"{uuid.uuid4().hex}{ENDING}"
        # Of two that come at the same moment each sees the other's note, and neither goes on.
        self.renew()
        if self._is_shared and (other := self._other()):
            self.let_go()
            raise StoreError(
                f"{folder} lies on a file system of many machines ({kind}), and {other} used the "
                f"store less than {LEASE / 60:.0f} minutes ago: two machines at once would damage "
                f"its index. Wait until it has ended. {INSTEAD}"
            )

    def renew(self) -> None:
        """Say that this machine goes on using the store."""
        now = time.monotonic()
        if self._is_shared and now >= self._renewed + RENEWED_EVERY:
            self._renewed = now
            write_whole(self._note, self._name.encode())

    def let_go(self) -> None:
        """This process has done with the store."""
        with suppress(OSError):
            self._note.unlink(missing_ok=True)

    def _other(self) -> str:
        """Another machine that uses the store; "" where none does."""
        # By the clock of the file system, which all machines share.
        now = self._note.stat().st_mtime
        for note in self._note.parent.glob(f"*{ENDING}"):
            with suppress(OSError):  # let go of meanwhile
                if now - note.stat().st_mtime >= LEASE:  # of one that was killed
                    note.unlink()
                elif (name := note.read_text(errors="replace")[:200]) != self._name:
                    return name
        return ""
