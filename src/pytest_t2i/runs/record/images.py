"""The images of a run: one line of JSON for each, beside its run.json, read when asked for."""

from __future__ import annotations

import json
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, overload

import msgspec

from pytest_t2i.data import Detection, Name, PicturePath, Sha256
from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import encodable, write_lines
from pytest_t2i.read_files import convert, open_regular, parse_json

SUFFIX = ".images.jsonl"
MOST_LINE = 1 << 20
"""Largest length in bytes of a line."""


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """One image of a prompt with the detection of each detector."""

    seed: int
    file: PicturePath | None
    """Path of the PNG; None when the model refused."""
    detections: Mapping[str, Detection]
    """Name of a detector -> its detection, with scores for the deciding detector alone. {} if no
    detector examined the image."""
    revised_prompt: str | None = None
    """Text that a service reports to have drawn; None if it reports none."""
    sha256: Sha256 | None = None
    """SHA-256 of the PNG; None when the model refused."""


@dataclass(frozen=True, slots=True)
class _Line(ImageRecord):
    """An image in the file of images."""

    prompt: Name = ""
    """Id of the image's prompt."""


DECODER = msgspec.json.Decoder(_Line)


class Images(Sequence[ImageRecord]):
    """The images of one prompt, which are made or read each time that they are asked for.

    >>> images = Images(1, lambda: [ImageRecord(7, None, {})])
    >>> len(images), images[0].seed
    (1, 7)
    """

    __slots__ = ("_count", "_read")

    def __init__(self, count: int, read: Callable[[], Iterable[ImageRecord]]) -> None:
        self._count, self._read = count, read

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[ImageRecord]:
        return iter(self._read())

    @overload
    def __getitem__(self, place: int) -> ImageRecord: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ImageRecord]: ...
    def __getitem__(self, place: int | slice) -> ImageRecord | Sequence[ImageRecord]:
        return tuple(self)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def changed(self, change: Callable[[ImageRecord], ImageRecord]) -> Images:
        """Return these images, each changed when it is asked for."""
        return Images(self._count, lambda: map(change, self._read()))


def images_file(run: Path) -> Path:
    """Return the file of the images of a run.json, which lies beside it.

    >>> images_file(Path("reports", "run.json")).name
    'run.images.jsonl'
    """
    return run.with_name(f"{run.stem}{SUFFIX}")


def write_images(images: Iterable[tuple[str, Sequence[ImageRecord]]], run: Path) -> None:
    """Write the images of each prompt, given with its id, beside a run.json."""
    write_lines(images_file(run), (_line(name, image) for name, each in images for image in each))


def _line(prompt: str, image: ImageRecord) -> bytes:
    plain: dict[str, Any] = {"prompt": prompt} | msgspec.to_builtins(image)
    return encodable(json.dumps(plain, ensure_ascii=False, allow_nan=False)).encode() + b"\n"


def picture_digests(run: Path) -> Iterator[tuple[str, str]]:
    """Yield the file and the SHA-256 of each picture that is listed beside a run.json."""
    path = images_file(run)
    with open_regular(path, kind="file of images") as stream:
        for number, content in enumerate(iter(partial(stream.readline, MOST_LINE), b""), 1):
            line = _decoded(path, content, number)
            if line.file is not None and line.sha256 is not None:
                yield line.file, line.sha256


def _decoded(path: Path, content: bytes, number: int) -> _Line:
    """Return a line; FileFormatError names the mistake in one that cannot be read."""
    with suppress(ValueError, RecursionError):
        return DECODER.decode(content)
    where = f"line {number}"
    try:
        text = content[:-1].decode()
    except UnicodeDecodeError as error:
        raise FileFormatError(path, f"is not UTF-8: {error}.", where=where) from None
    return convert(path, parse_json(path, text, first_line=number), _Line, where=where)


def images_beside(run: Path, counts: Sequence[tuple[str, int]]) -> list[Images]:
    """Return the images of each prompt, given by its id and the number of its images.

    The file is read when an image is asked for: FileFormatError then says what is wrong with it.
    """
    file = _ImagesFile(images_file(run), counts)
    return [Images(count, partial(file.read, k)) for k, (_, count) in enumerate(counts)]


class _ImagesFile:
    """A file of images, whose lines are in the order of the prompts of its run.json."""

    def __init__(self, path: Path, counts: Sequence[tuple[str, int]]) -> None:
        self._path, self._counts = path, counts
        self._firsts = [0, *accumulate(count for _, count in counts)]

    def read(self, k: int) -> Iterator[ImageRecord]:
        """Yield the images of the k-th prompt."""
        name, count = self._counts[k]
        self._stream.seek(self._offsets[k])
        for number, content in enumerate(self._lines(count), self._firsts[k] + 1):
            line = _decoded(self._path, content, number)
            if line.prompt != name:
                problem = f"expected an image of {name!r}, got one of {line.prompt!r}."
                raise FileFormatError(self._path, problem, where=f"line {number}")
            yield ImageRecord(
                line.seed, line.file, line.detections, line.revised_prompt, line.sha256
            )

    @cached_property
    def _stream(self) -> BinaryIO:
        """The file, which stays open: a report may be written where it was read from."""
        remedy = "It holds the images of the run: copy it together with its run.json."
        stream = open_regular(self._path, kind="file of images", remedy=remedy)
        weakref.finalize(self, stream.close)
        return stream

    @cached_property
    def _offsets(self) -> Sequence[int]:
        """The place of the first image of each prompt; the file has a line for each image."""
        self._stream.seek(0)
        found = array("Q")
        for _, count in self._counts:
            found.append(self._stream.tell())
            for _ in self._lines(count):
                pass
        if self._stream.read(1):
            raise self._of_another_run("more lines")
        return found

    def _lines(self, count: int) -> Sequence[bytes]:
        lines = [self._stream.readline(MOST_LINE) for _ in range(count)]
        if not all(line.endswith(b"\n") for line in lines):
            raise self._of_another_run("fewer lines, or longer ones")
        return lines

    def _of_another_run(self, got: str) -> FileFormatError:
        most = f"{self._firsts[-1]} lines of at most {MOST_LINE >> 20} MiB"
        return FileFormatError(
            self._path, f"expected {most}, one for each image of its run.json, got {got}."
        )
