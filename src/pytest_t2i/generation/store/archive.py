"""Export a store to one tar file with checksums, and import such a file."""

from __future__ import annotations

import io
import re
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated

import msgspec

from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, write_whole
from pytest_t2i.generation.store.index import NAME, check_index, connect
from pytest_t2i.generation.store.locks import use
from pytest_t2i.generation.store.merge import Merged, merge
from pytest_t2i.generation.store.repair import check_is_store

Tick = Callable[[int], None]
MANIFEST = "manifest.json"
FORMAT = 1
MEMBER = re.compile(
    r"index\.sqlite|images/[0-9A-Za-z]{2}/[0-9A-Za-z]+\.png"
    r"|arrays/[0-9A-Za-z]{2}/[0-9A-Za-z]+\.[0-9a-f]{8}\.npy"
    r"|arrays/[0-9a-f]{2}/[0-9a-f]{32}\.safetensors"
)
"""Names that files of a store may have. A hostile tar may name other files or outside paths."""
MOST_MANIFEST = 1 << 30


class Packed(msgspec.Struct, forbid_unknown_fields=True):
    """Size and checksum of one file, as the manifest records them."""

    bytes: Annotated[int, msgspec.Meta(ge=0)]
    sha256: str


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """The manifest, the first file of an archive."""

    format: int
    files: dict[str, Packed]


@dataclass(slots=True)
class Unpacked:
    """Result of importing an archive."""

    merged: Merged
    damaged: list[str] = field(default_factory=list)
    """Files that are missing or whose checksums differ. They were not imported."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was damaged."""
        return not self.damaged and self.merged.is_whole


def export(folder: Path, file: Path, tick: Tick = lambda _: None) -> int:
    """Write a store to a tar file and return the number of files in it.

    The index is copied as it is at one moment, so that runs may go on. Damaged or missing files of
    the store are reported when the tar file is imported.

    Raises:
        StoreError: there is no store, or the file exists already or cannot be written.
    """
    check_is_store(folder)
    check_index(folder)
    if file.exists():
        raise StoreError(f"{file}: the file exists already: name another one, or remove it")
    with use(folder), tempfile.TemporaryDirectory() as work:
        index = Path(work) / NAME
        names = _copy_index(folder, index)
        there = {name: folder / name for name in names if (folder / name).is_file()}
        sources = {NAME: index, **there}
        listed = {name: _packed(path.read_bytes()) for name, path in sources.items()}
        unfinished = file.with_name(f".{file.name}.unfinished")
        try:
            with tarfile.open(unfinished, "w") as tar:
                content = msgspec.json.encode(Manifest(FORMAT, listed))
                _add(tar, MANIFEST, content)
                for count, (name, path) in enumerate(sources.items(), 1):
                    _add(tar, name, path.read_bytes())
                    tick(count)
            unfinished.replace(file)
        except OSError as error:
            raise StoreError(f"{file}: cannot be written: {error.strerror or error}.") from None
        finally:
            unfinished.unlink(missing_ok=True)
    return len(sources)


def unpack(file: Path, folder: Path, tick: Tick = lambda _: None) -> Unpacked:
    """Merge the content of a tar file written by ``export`` into a store.

    The store is created where it is absent. A file is written to a temporary folder beside the
    store, and only if its name, size and checksum equal those of the manifest. Links, devices and
    other names are refused.

    Raises:
        StoreError: the file cannot be read, or ``export`` did not write it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=".t2i-import-") as work:
        damaged = _extract(file, Path(work))
        if not (Path(work) / NAME).exists():
            raise StoreError(f"{file}: its index is damaged: export it again")
        (Path(work) / "images").mkdir(exist_ok=True)
        merged = merge(folder, Path(work), tick)
        # Reported by their names in the archive, as the temporary folder is gone by then.
        lost = [*merged.there.damaged, *merged.there.absent]
        damaged = sorted({*damaged, *(path.relative_to(work).as_posix() for path in lost)})
        merged.there.damaged, merged.there.absent = [], []
    return Unpacked(merged, damaged)


def _copy_index(folder: Path, index: Path) -> list[str]:
    """Copy the index without claims and return the names of the files in it."""
    with closing(connect(folder)) as source, closing(sqlite3.connect(index)) as copy:
        source.backup(copy)
        copy.execute("DELETE FROM claims")
        copy.execute("PRAGMA journal_mode=DELETE")
        copy.commit()
        query = "SELECT file FROM images WHERE file NOT NULL UNION SELECT file FROM arrays"
        return sorted(str(name) for (name,) in copy.execute(query) if MEMBER.fullmatch(str(name)))


def _packed(content: bytes) -> Packed:
    return Packed(len(content), checksum(content))


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    told = tarfile.TarInfo(name)
    told.size, told.mode = len(content), 0o644
    tar.addfile(told, io.BytesIO(content))


def _extract(file: Path, folder: Path) -> list[str]:
    """Write the files that match the manifest; return the names of those missing or damaged."""
    try:
        with tarfile.open(file, "r:") as tar:
            manifest = _manifest(file, tar)
            missing = dict(manifest.files)
            for name, content in _contents(file, tar, manifest):
                if _packed(content) == missing.get(name):
                    del missing[name]
                    write_whole(folder / name, content)
    except tarfile.ReadError as error:
        raise StoreError(
            f"{file}: expected a tar file that t2i store export wrote: {error}."
        ) from None
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror or error}.") from None
    return sorted(missing)


def _manifest(file: Path, tar: tarfile.TarFile) -> Manifest:
    first = tar.next()
    try:
        if first is None or first.name != MANIFEST or first.size > MOST_MANIFEST:
            raise msgspec.ValidationError("it does not begin with a manifest")
        manifest = msgspec.json.decode(_read(tar, first), type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{file}: expected a tar file that t2i store export wrote: {error}."
        ) from None
    if manifest.format != FORMAT:
        raise StoreError(
            f"{file}: its format is {manifest.format}, this pytest-t2i reads {FORMAT}. Use the "
            "version that wrote it."
        )
    return manifest


def _contents(file: Path, tar: tarfile.TarFile, manifest: Manifest) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file after the manifest. A truncated end is left out."""
    while True:
        try:
            member = tar.next()
        except tarfile.ReadError:
            return
        if member is None:
            return
        if not member.isreg() or not MEMBER.fullmatch(member.name):
            raise StoreError(
                f"{file}: expected the files of a store, got {member.name!r}: nothing is imported. "
                "Import a file that t2i store export wrote"
            )
        known = manifest.files.get(member.name)
        if known is None or member.size != known.bytes:
            continue
        try:
            yield member.name, _read(tar, member)
        except tarfile.ReadError:
            return


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    opened: IO[bytes] | None = tar.extractfile(member)
    return b"" if opened is None else opened.read()
