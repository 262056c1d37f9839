"""Download published weights and verify their size and checksum; failed downloads leave no file."""

from __future__ import annotations

import bz2
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

from pytest_t2i.adapters.endpoints.proxies import check_environment, through
from pytest_t2i.adapters.identity import cache_file
from pytest_t2i.adapters.loading import load_failure, needs
from pytest_t2i.errors import ConfigurationError, ModelLoadError, StoreError
from pytest_t2i.files import explain, temporary_beside
from pytest_t2i.read_files import read_toml

MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class PublishedWeights:
    """One entry of ``weights.toml``.

    >>> published()["yunet"].size
    '0.2 MB'
    """

    name: str
    """Name for ``t2i detector fetch``."""
    title: str
    licence: str
    parts: tuple[str, ...]
    """Detectors and parts that use the file where no path is given."""
    file: str = ""
    """Local file name; "" for weights of the hub and for those that are downloaded by hand."""
    url: str = ""
    bytes: int = 0
    """Size of the local file; a .bz2 file at the URL is unpacked."""
    sha256: str = ""
    hub: tuple[str, ...] = ()
    """Repositories of the Hugging Face hub, which are kept in the hub's own cache."""
    by_hand: str = ""
    """Instruction where the file must be downloaded by hand; else ""."""
    note: str = ""

    @property
    def size(self) -> str:
        """Size in words; "" for weights of the hub."""
        return f"{self.bytes / MEGABYTE:.1f} MB" if self.bytes else ""

    @property
    def path(self) -> Path:
        return cache_file().parent / "weights" / self.file

    @property
    def facts(self) -> str:
        """Title, size, licence and origin in one line."""
        where = self.url or ", ".join(self.hub) or "by hand"
        return ", ".join(filter(None, (self.title, self.size, f"licence: {self.licence}", where)))


@cache
def published() -> dict[str, PublishedWeights]:
    table = read_toml(Path(str(files("pytest_t2i.adapters") / "weights.toml")))
    return {name: _entry(name, facts) for name, facts in table.items()}


def _entry(name: str, facts: dict[str, Any]) -> PublishedWeights:
    hub = facts.pop("hub", ())
    listed = (hub,) if isinstance(hub, str) else tuple(hub)
    return PublishedWeights(name, hub=listed, parts=tuple(facts.pop("parts")), **facts)


def weights_of(part: str) -> PublishedWeights | None:
    """The entry that a detector or a part uses where no path is given; None where there is none."""
    return next((entry for entry in published().values() if part in entry.parts), None)


def fetched(part: str) -> Path | None:
    """The downloaded file of a part; None where it was not downloaded.

    >>> fetched("no-such-part") is None
    True
    """
    entry = weights_of(part)
    return entry.path if entry is not None and entry.file and entry.path.is_file() else None


def how_to_fetch(part: str) -> str:
    """The command that downloads a part's weights, with size and licence."""
    entry = weights_of(part)
    if entry is None:
        return ""
    if entry.by_hand:
        return entry.by_hand
    facts = ", ".join(filter(None, (entry.size, entry.licence)))
    return f"Run: t2i detector fetch {entry.name} ({facts})."


SILENT = 30.0
"""Seconds without a byte after which a download ends with an error."""
LONGEST = 3600.0
"""Largest number of seconds for one file."""
PACKED_MORE = 1 << 16
"""Largest number of bytes by which a compressed file may exceed its content."""
KEPT = ("*.safetensors", "*.json", "*.txt", "*.model", "*.py")
"""Files of a hub repository that are downloaded; pickles are left out."""
Told = Callable[[int], None]
"""Function that receives the number of bytes of each chunk."""


def fetch(weights: PublishedWeights, told: Told = lambda _: None) -> list[Path]:
    """Download weights; an existing file with the right checksum is kept."""
    if weights.by_hand:
        raise ConfigurationError(f"{weights.name}: {weights.by_hand}")
    if weights.hub:
        return [_from_hub(repository) for repository in weights.hub]
    path = weights.path
    if not (path.is_file() and _sha256(path) == weights.sha256):
        _from_url(weights, path, told)
    return [path]


def _from_hub(repository: str) -> Path:
    with needs("fetching weights", "fetch"):
        import huggingface_hub

    try:
        return Path(huggingface_hub.snapshot_download(repository, allow_patterns=list(KEPT)))
    except Exception as error:  # noqa: BLE001 - the hub's library raises many kinds
        raise load_failure(error, repository) from None


def _from_url(weights: PublishedWeights, path: Path, progress: Told) -> None:
    try:
        with _beside(path) as file:
            length, sha256 = _received(weights, file, progress)
            if (length, sha256) != (weights.bytes, weights.sha256):
                raise ModelLoadError(
                    f"{weights.url}: expected {weights.bytes} bytes with sha256 {weights.sha256}, "
                    f"got {length} with {sha256}. No file was kept: run again, or download the "
                    "file by hand."
                )
            file.flush()
            Path(file.name).replace(path)
    except OSError as error:
        raise StoreError(explain(path, error)) from error


@contextmanager
def _beside(path: Path) -> Iterator[IO[bytes]]:
    """A temporary file in the same folder, which is removed at the end unless it was renamed."""
    with temporary_beside(path).open("xb") as file:
        try:
            yield file
        finally:
            Path(file.name).unlink(missing_ok=True)


def _received(weights: PublishedWeights, file: IO[bytes], progress: Told) -> tuple[int, str]:
    """Number of bytes written and their checksum; reading stops beyond the expected size."""
    unpack = bz2.BZ2Decompressor().decompress if weights.url.endswith(".bz2") else bytes
    hasher, length = hashlib.sha256(), 0
    for chunk in _chunks(weights, progress):
        try:
            content = unpack(chunk)
        except (OSError, EOFError):
            raise ModelLoadError(
                f"{weights.url}: expected a bz2 file, got something else. No file was kept: run "
                "again, or download the file by hand."
            ) from None
        length += len(content)
        if length > weights.bytes:
            break
        hasher.update(content)
        file.write(content)
    return length, hasher.hexdigest()


def _chunks(weights: PublishedWeights, progress: Told) -> Iterator[bytes]:
    with needs("fetching weights", "fetch"):
        import httpx

    check_environment()
    came, until = 0, time.monotonic() + LONGEST
    try:
        with httpx.stream("GET", weights.url, follow_redirects=True, timeout=SILENT) as reply:
            reply.raise_for_status()
            for chunk in reply.iter_raw():
                came += len(chunk)
                if came > weights.bytes + PACKED_MORE or time.monotonic() > until:
                    return
                progress(len(chunk))
                yield chunk
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        words = str(error).partition("\n")[0] or type(error).__name__
        raise ModelLoadError(
            f"{weights.url} cannot be downloaded{through(weights.url)} ({words}). Run again "
            f"with a network, or put the file at {weights.path} "
            f"({weights.bytes / MEGABYTE:.1f} MB, sha256 {weights.sha256})."
        ) from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
