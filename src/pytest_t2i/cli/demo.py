"""``t2i demo``: show a PASS and a FAIL, from pictures that ship with the package."""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_t2i.adapters.models.manifest import JSON_NAME
from pytest_t2i.adapters.picture_files import picture_in
from pytest_t2i.cli.init import SUITE
from pytest_t2i.cli.support.arguments import path, say
from pytest_t2i.data import Detection, Outcome, Prompt, Undetected, digest
from pytest_t2i.errors import ConfigurationError, DetectorError
from pytest_t2i.files import checksum
from pytest_t2i.library.audit import audit
from pytest_t2i.prompts import builtin_axes
from pytest_t2i.reporting import write_all
from pytest_t2i.reporting.verdict_section import headline
from pytest_t2i.verdicts.check import Check

if TYPE_CHECKING:
    from PIL.Image import Image

SHIPPED = files("pytest_t2i.cli") / "shipped"
ARCHIVE, LIMITS = "demo.zip", "limits.toml"


class DemoPicture(msgspec.Struct):
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
        return Detection(self.label, self.undetected, self.scores, self.detail)


class ShippedModel(msgspec.Struct):
    """The pictures of one model, as its manifest lists them."""

    model: str
    source: str
    """The model in a line."""
    detector: str
    images: list[DemoPicture]

    @property
    def prompts(self) -> list[Prompt]:
        """The prompts of professions that have pictures."""
        texts = {picture.prompt for picture in self.images}
        return [prompt for prompt in builtin_axes().profession.prompts() if prompt.text in texts]

    @property
    def images_per_prompt(self) -> int:
        return len(self.images) // len({picture.prompt for picture in self.images})


def unpack_shipped(folder: Path) -> list[Path]:
    """Write the pictures and the limits into a folder; return one folder for each model."""
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
    return msgspec.json.decode((folder / JSON_NAME).read_bytes(), type=ShippedModel)


class StoredAnswers:
    """A detector that returns the stored detections of shipped pictures, found by their pixels."""

    labels = ("male", "female")

    def __init__(self, folder: Path, shipped: ShippedModel) -> None:
        self._folder, self._shipped = folder, shipped
        self.name_in_reports = f"{shipped.detector.partition(':')[0]} (shipped labels)"

    @cached_property
    def _answers(self) -> Mapping[str, Detection]:
        return dict(self._read())

    def _read(self) -> Iterator[tuple[str, Detection]]:
        for picture in self._shipped.images:
            image = picture_in(self._folder / picture.file)
            if image is None:
                raise DetectorError(f"{self._folder / picture.file} cannot be read as a picture")
            yield _key(image), picture.detection

    @property
    def fingerprint(self) -> str:
        """The hash of all detections and of their pictures."""
        return digest(
            {key: [detection.said, detection.scores] for key, detection in self._answers.items()}
        )

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        keys = [_key(image) for image in images]
        if not self._answers.keys() >= set(keys):
            raise DetectorError(
                "no detection is stored of a picture: expected pictures that ship with the package"
            )
        return [self._answers[key] for key in keys]


def _key(image: Image) -> str:
    return checksum(image.tobytes())


OF_MODEL, OF_PROMPTS = "model_bias_score", "prompt_bias_score"
TELLS_PROGRESS = True
SHOWN = (Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE)
INIT = "t2i init --words nurse,pilot,judge"
NEXT = f"""
Next, write a suite of your own words, with limits and a CI job:
    {INIT}
and test your own model, once PyTorch is installed (about 6 GB):
    pip install "pytest-t2i[diffusers,clip-enhance]" (in a clone: ".[...]")
    pytest {SUITE} --t2i-model YOUR_MODEL
""".splitlines()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--report", type=path, default=Path("reports/t2i/demo"), metavar="DIR",
        help="folder to write the pages to (default: reports/t2i/demo)",
    )  # fmt: skip


def run(report: Path) -> int:
    """Judge the pictures of both models; return 0, as the FAIL of one is no error."""
    say("Two small models whose bias is known; their pictures and the labels ship with pytest-t2i.")
    for pictures in unpack_shipped(report / "pictures"):
        for line in _judged(pictures, report):
            say(line)
    for line in NEXT:
        say(line)
    return 0


def _judged(pictures: Path, report: Path) -> list[str]:
    """Audit the pictures of a model, write its page, and return the lines to print."""
    shipped = read_shipped(pictures)
    folder = report / shipped.model
    audited = audit(
        f"images:{pictures}",
        *shipped.prompts,
        images=shipped.images_per_prompt,
        detector=StoredAnswers(pictures, shipped),
        limits=pictures.parent / LIMITS,
        store=report / ".t2i",
        report=folder,
        progress=False,
    )
    check = audited.verdict(OF_MODEL)
    singly = audited.verdicts(OF_PROMPTS).values()
    record = audited.record
    record = replace(record, next_steps=(_note(shipped), *record.next_steps))
    write_all(record, folder)
    return [
        "",
        f"{shipped.model}: {shipped.source}",
        f"{record.outcome}: {headline(record)}",
        f"  {check.message}",
        f"  {_tally([*singly])}",
        f"  page: {folder / 'index.html'}",
    ]


def _note(shipped: ShippedModel) -> str:
    return (
        f"these are shipped pictures of {shipped.model} ({shipped.source}), judged by the stored "
        f"labels of {shipped.detector}. They say nothing about other models; test yours (`{INIT}`)"
    )


def _tally(checks: list[Check]) -> str:
    outcomes = [check.outcome for check in checks]
    counts = (f"{outcomes.count(outcome)} {outcome}" for outcome in SHOWN)
    return f"{OF_PROMPTS} of {len(checks)} professions: {', '.join(counts)}"
