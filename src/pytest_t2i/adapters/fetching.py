"""Download published weights and verify their size and checksum; failed downloads leave no file."""

from __future__ import annotations

import bz2
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pytest_t2i.adapters.published_weights import MEGABYTE, PublishedWeights
from pytest_t2i.adapters.support.loading import load_failure, needs
from pytest_t2i.errors import ConfigurationError, ModelLoadError, StoreError
from pytest_t2i.files import explain

with needs("fetching weights", "fetch"):
    import httpx
    import huggingface_hub

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
    """Download weights; an existing file with the right checksum is kept.

    Args:
        weights: an entry of the table.
        told: called with the number of bytes of each chunk.

    Returns:
        Path of the file, or paths of folders in the hub's cache.

    Raises:
        ConfigurationError: the weights must be downloaded by hand; the message says how.
        ModelLoadError: the server cannot be reached, or the file differs from the expected one.
        StoreError: the file cannot be written.
        MissingExtraError: the extra is not installed.
    """
    if weights.by_hand:
        raise ConfigurationError(f"{weights.name}: {weights.by_hand}")
    if weights.hub:
        return [_from_hub(one) for one in weights.hub]
    path = weights.path
    if not (path.is_file() and _sha256(path) == weights.sha256):
        _from_url(weights, path, told)
    return [path]


def _from_hub(repository: str) -> Path:
    try:
        return Path(huggingface_hub.snapshot_download(repository, allow_patterns=list(KEPT)))
    except Exception as error:  # noqa: BLE001 - the hub's library raises many kinds
        raise load_failure(error, repository) from None


def _from_url(weights: PublishedWeights, path: Path, told: Told) -> None:
    try:
        with _beside(path) as file:
            length, sha256 = _received(weights, file, told)
            if (length, sha256) != (weights.bytes, weights.sha256):
                raise ModelLoadError(
                    f"{weights.url}: expected {weights.bytes} bytes with sha256 {weights.sha256}, "
                    f"got {length} with {sha256}. No file was kept: run again, or download the "
                    "file by hand."
                )
            file.flush()
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path)
    except OSError as error:
        raise StoreError(explain(path, error)) from error


@contextmanager
def _beside(path: Path) -> Iterator[IO[bytes]]:
    """A temporary file in the same folder, which is removed at the end unless it was renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as file:
        try:
            yield file
        finally:
            Path(file.name).unlink(missing_ok=True)


def _received(weights: PublishedWeights, file: IO[bytes], told: Told) -> tuple[int, str]:
    """Number of bytes written and their checksum; reading stops beyond the expected size."""
    unpack = bz2.BZ2Decompressor().decompress if weights.url.endswith(".bz2") else bytes
    hasher, length = hashlib.sha256(), 0
    for chunk in _chunks(weights, told):
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


def _chunks(weights: PublishedWeights, told: Told) -> Iterator[bytes]:
    came, until = 0, time.monotonic() + LONGEST
    try:
        with httpx.stream("GET", weights.url, follow_redirects=True, timeout=SILENT) as reply:
            reply.raise_for_status()
            for chunk in reply.iter_raw():
                came += len(chunk)
                if came > weights.bytes + PACKED_MORE or time.monotonic() > until:
                    return
                told(len(chunk))
                yield chunk
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        words = str(error).partition("\n")[0] or type(error).__name__
        raise ModelLoadError(
            f"{weights.url} cannot be downloaded ({words}). Run again with a network, or put the "
            f"file at {weights.path} ({weights.bytes / MEGABYTE:.1f} MB, sha256 {weights.sha256})."
        ) from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
