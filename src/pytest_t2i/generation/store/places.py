"""Detect stores on network file systems, and refuse use by two machines at once."""

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
from pytest_t2i.files import file_system_of, write_whole
from pytest_t2i.generation.heartbeat import Ticker

NETWORK = re.compile(
    r"nfs|cifs|smb|lustre|gpfs|beegfs|ceph|glusterfs|afs|fuse\.sshfs", re.IGNORECASE
)
"""File systems that several machines write to."""
OBJECTS = re.compile(r"fuse.*(s3|gcs|goofys|blob|rclone|oss|objectfs)", re.IGNORECASE)
"""File systems that mount object storage as a folder."""
LEASE = 600.0
"""Seconds after which another machine's note is void unless it was renewed."""
ENDING = ".machine"
"""File suffix of a process's note."""
RENEWED_EVERY = 60.0
"""Seconds between two renewals of this machine's note."""
INSTEAD = (
    "Give each machine a store on its own disk (--t2i-store); to bring them together, copy the "
    "folders images/ and arrays/ into one of them, and run `t2i store repair`."
)


class Machine:
    """Ensures that only this machine uses a store on a network file system.

    On a local disk it does nothing. Each process writes a note, a file with the machine's name: an
    index that two machines write to may be damaged, and could not tell who they are.
    """

    def __init__(self, folder: Path, kind: str | None = None, name: str = "") -> None:
        """Raises StoreError on object storage, and while another machine uses the store."""
        kind = file_system_of(Path(os.path.realpath(folder))) if kind is None else kind
        if OBJECTS.search(kind):
            raise StoreError(
                f"{folder} lies on object storage ({kind}), which has no file locks: a store "
                f"cannot be kept there. {INSTEAD}"
            )
        self._is_shared, self._renewed = bool(NETWORK.search(kind)), -math.inf
        self._heartbeat: Ticker | None = None
        self._name = name or socket.gethostname()
        self._note = folder / "locks" / f"{uuid.uuid4().hex}{ENDING}"
        # Where two machines start at the same moment, each sees the other's note, and both stop.
        self.renew()
        if self._is_shared and (holder := self._other()):
            self.let_go()
            raise StoreError(
                f"{folder} lies on a network file system ({kind}), and {holder} used the "
                f"store less than {LEASE / 60:.0f} minutes ago: two machines at once would damage "
                f"its index. Wait until the other run has ended. {INSTEAD}"
            )

        if self._is_shared:  # a run that waits for its detector is alive, too
            self._heartbeat = Ticker(self.renew, RENEWED_EVERY, RENEWED_EVERY)
            self._heartbeat.start()

    def renew(self) -> None:
        """Renew the note: this machine still uses the store."""
        now = time.monotonic()
        if self._is_shared and now >= self._renewed + RENEWED_EVERY:
            self._renewed = now
            write_whole(self._note, self._name.encode())

    def let_go(self) -> None:
        """Remove the note: this process no longer uses the store."""
        if self._heartbeat is not None:
            self._heartbeat.stop()
        with suppress(OSError):
            self._note.unlink(missing_ok=True)

    def _other(self) -> str:
        """Name of another machine that uses the store; "" where none does."""
        # The clock of the file system is the same for all machines.
        now = self._note.stat().st_mtime
        for note in self._note.parent.glob(f"*{ENDING}"):
            with suppress(OSError):  # the note was removed meanwhile
                if now - note.stat().st_mtime >= LEASE:  # its process was killed
                    note.unlink()
                elif (name := note.read_text(errors="replace")[:200]) != self._name:
                    return name
        return ""
