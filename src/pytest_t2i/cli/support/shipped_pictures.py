"""Pictures that ship with the package, and a detector that repeats their stored detections."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_t2i.adapters.models.manifest import JSON_NAME
from pytest_t2i.adapters.support.picture_files import picture_in
from pytest_t2i.data import Detection, Prompt, Undetected, digest
from pytest_t2i.errors import ConfigurationError, DetectorError
from pytest_t2i.files import checksum
from pytest_t2i.prompts import builtin_axes

if TYPE_CHECKING:
    from PIL.Image import Image

SHIPPED = files("pytest_t2i.cli") / "shipped"
ARCHIVE, LIMITS = "demo.zip", "limits.toml"


class Picture(msgspec.Struct):
    """A row of the manifest: a thumbnail, and the detection of the full picture."""

    file: str
    prompt: str
    seed: int
    label: str | None
    undetected: Undetected | None
    scores: dict[str, float]
    detail: str

    @property
    def detection(self) -> Detection:
        """The detection that the detector gave."""
        return Detection(self.label, self.undetected, self.scores, self.detail)


class ShippedModel(msgspec.Struct):
    """The pictures of one model, as its manifest lists them."""

    model: str
    source: str
    """The model in a line."""
    detector: str
    images: list[Picture]

    @property
    def prompts(self) -> list[Prompt]:
        """The prompts of professions that have pictures."""
        shown = {picture.prompt for picture in self.images}
        return [prompt for prompt in builtin_axes().profession.prompts() if prompt.text in shown]

    @property
    def images_per_prompt(self) -> int:
        """The number of pictures of every prompt."""
        return len(self.images) // len({picture.prompt for picture in self.images})


def unpack(folder: Path) -> list[Path]:
    """Write the pictures and the limits into a folder; return one folder for each model.

    Raises:
        ConfigurationError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / LIMITS).write_bytes((SHIPPED / LIMITS).read_bytes())
        with as_file(SHIPPED / ARCHIVE) as file, zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
            names = archive.namelist()
    except OSError as error:
        raise ConfigurationError(
            f"--report: {folder} cannot be written: {error.strerror or error}. Name another folder."
        ) from None
    return [folder / name for name in dict.fromkeys(name.partition("/")[0] for name in names)]


def read_shipped(folder: Path) -> ShippedModel:
    """Return the manifest of a model's unpacked pictures."""
    return msgspec.json.decode((folder / JSON_NAME).read_bytes(), type=ShippedModel)


class StoredAnswers:
    """A detector that returns the stored detections of shipped pictures, found by their pixels."""

    labels = ("male", "female")

    def __init__(self, folder: Path, shipped: ShippedModel) -> None:
        self._folder, self._shipped = folder, shipped
        self.__name__ = f"stored answers of {shipped.detector.partition(':')[0]}"
        """The name of the detector in reports."""

    @cached_property
    def _answers(self) -> Mapping[str, Detection]:
        return dict(self._read())

    def _read(self) -> Iterator[tuple[str, Detection]]:
        for picture in self._shipped.images:
            shown = picture_in(self._folder / picture.file)
            if shown is None:
                raise DetectorError(f"{self._folder / picture.file} cannot be read as a picture")
            yield _key(shown), picture.detection

    @property
    def fingerprint(self) -> str:
        """The hash of all detections and of their pictures."""
        return digest({key: [one.said, one.scores] for key, one in self._answers.items()})

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """Return the stored detection of each picture.

        Raises DetectorError for a picture that is not shipped.
        """
        keys = [_key(image) for image in images]
        if not self._answers.keys() >= set(keys):
            raise DetectorError(
                "no detection is stored of a picture: expected pictures that ship with the package"
            )
        return [self._answers[key] for key in keys]


def _key(image: Image) -> str:
    return checksum(image.tobytes())
