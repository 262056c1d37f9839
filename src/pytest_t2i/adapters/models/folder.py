"""``images:DIR``: a folder of existing pictures as the model, to test closed models."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from pytest_t2i.adapters.identity import file_digest
from pytest_t2i.adapters.models.manifest import Entry, read_manifest
from pytest_t2i.adapters.picture_files import READING, picture_in, why_unreadable
from pytest_t2i.data import Generated, Request, digest
from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.files import inside, user_path
from pytest_t2i.protocols import LoadOptions

UNREADABLE = "unreadable"
"""Beginning of the refusal of a picture whose file cannot be decoded."""


def load(options: LoadOptions) -> ImageFolder:
    """Open a folder of pictures with its manifest.

    Args:
        options: ``source`` is the folder; no other option is used.

    Raises:
        ModelLoadError: the folder cannot be read, is empty, has no manifest or lacks files.
        FileFormatError: the manifest is malformed.
    """
    if not options.source:
        raise ConfigurationError("images: expected a folder, got none: use --t2i-model images:DIR.")
    folder = user_path(options.source)
    manifest = read_manifest(folder)
    return ImageFolder(folder, manifest.entries, manifest.notes)


class ImageFolder:
    """A TextToImage that reads pictures from a folder.

    The generation settings of a request are ignored.
    """

    def __init__(self, folder: Path, entries: Sequence[Entry], notes: Sequence[str] = ()) -> None:
        self.folder, self.notes = folder, tuple(notes)
        self._files = {(entry.prompt, entry.seed): entry.file for entry in entries}
        self._revised = {entry.file: r for entry in entries if (r := entry.revised_prompt)}
        self._seeds: dict[str, list[int]] = {}
        self._numbers: dict[str, set[int]] = {}
        for entry in entries:
            self._seeds.setdefault(entry.prompt, []).append(entry.seed)
            if entry.is_numbered:
                self._numbers.setdefault(entry.prompt, set()).add(entry.seed)
        self._alike: dict[str, list[str]] = {}
        for prompt in self._seeds:
            self._alike.setdefault(_plain(prompt), []).append(prompt)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the manifest, the content of its files, and the version of the decoding."""
        files = [
            [prompt, seed, file, file_digest(self.folder / file), *self._drawn(file)]
            for (prompt, seed), file in sorted(self._files.items())
        ]
        return digest([READING, *files])

    def _drawn(self, file: str) -> list[str]:
        return [self._revised[file]] if file in self._revised else []

    @property
    def provenance(self) -> Mapping[str, str]:
        """The folder, the numbers of pictures and prompts, and the hash of the pictures."""
        return {
            "source": str(self.folder),
            "pictures": str(len(self._files)),
            "prompts": str(len(self._seeds)),
            "weights": f"sha256:{self.fingerprint}",
            **({"manifest": "; ".join(self.notes)} if self.notes else {}),
        }

    @property
    def prompts(self) -> tuple[str, ...]:
        """Every prompt of the manifest, in its order."""
        return tuple(self._seeds)

    def available(self, prompt: str) -> tuple[int, ...]:
        """Seeds of the pictures of a prompt; () where there are none."""
        return tuple(self._seeds.get(self._listed(prompt), ()))

    def numbers(self, prompt: str) -> Collection[int]:
        """Those of the seeds of a prompt that are numbers, as the manifest gives none."""
        return self._numbers.get(self._listed(prompt), ())

    def _listed(self, prompt: str) -> str:
        """Return a prompt as the manifest writes it, where only blanks or accents differ."""
        alike = self._alike.get(_plain(prompt), ())
        return alike[0] if prompt not in self._seeds and len(alike) == 1 else prompt

    def _file(self, request: Request) -> str | None:
        return self._files.get((self._listed(request.prompt), request.seed))

    def missing(self, requests: Sequence[Request]) -> list[Request]:
        """The requests without a picture in the folder."""
        return [request for request in requests if self._file(request) is None]

    def check(self, requests: Sequence[Request]) -> None:
        """Raise one ConfigurationError for all requests without a picture."""
        missing = self.missing(requests)
        if missing:
            raise ConfigurationError(self._shortage(missing, len(requests)))

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """Read one picture per request, in order.

        A file that is no picture gives no image and a refusal that begins with "unreadable".
        """
        self.check(requests)
        files = (self._file(request) for request in requests)
        return [self._read(file) for file in files if file is not None]

    def _read(self, file: str) -> Generated:
        path = inside(self.folder, file)
        picture = picture_in(path) if path else None
        because = why_unreadable(path) if path and picture is None else ""
        refusal = None if picture else f"{UNREADABLE}: {file}{f' ({because})' if because else ''}"
        return Generated(picture, refusal=refusal, revised_prompt=self._revised.get(file))

    def _shortage(self, missing: Sequence[Request], picture_count: int) -> str:
        prompts = sorted({self._listed(request.prompt) for request in missing})
        unknown = [prompt for prompt in prompts if prompt not in self._seeds]
        short = [prompt for prompt in prompts if prompt in self._seeds]
        text = (
            f"{self.folder}: expected {picture_count} pictures, {len(missing)} of them are missing."
        )
        if unknown:
            remedy = "Add pictures, or deselect those tests (-k)."
            text += f" Not in its manifest: {_quoted(unknown)}. {remedy}"
        if short:
            few = min(len(self._seeds[prompt]) for prompt in short)
            text += f" Too few of: {_quoted(short)}. Lower --t2i-images to {few}, or add pictures."
        return text


def _plain(prompt: str) -> str:
    """Return a prompt without the differences that nobody sees: blanks, composed letters."""
    return " ".join(unicodedata.normalize("NFC", prompt).split())


def _quoted(prompts: Sequence[str]) -> str:
    return some([repr(prompt) for prompt in prompts])
