"""Names in documents that lead out of their folder, and what of it a reader takes."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import documents
from documents import DOCUMENTS
from PIL import Image
from pytest_t2i_labelling.label_studio.command import write_tasks
from tally import Tally

from pytest_t2i.adapters.models.folder import load
from pytest_t2i.cli import sample
from pytest_t2i.errors import T2IError
from pytest_t2i.labels import load_labelled_set
from pytest_t2i.protocols import LoadOptions

SECRET = (250, 10, 200)
"""Colour of the picture that nobody may be shown."""


def write_surroundings(folder: Path) -> dict[str, str]:
    """A folder with a picture outside of it, and in words -> every name that must not be taken."""
    folder.mkdir(parents=True)
    out = folder.parent / "secret.png"
    Image.new("RGB", (4, 4), SECRET).save(out)
    (folder.parent / "elsewhere").mkdir()
    Image.new("RGB", (4, 4), SECRET).save(folder.parent / "elsewhere" / "secret.png")
    Image.new("RGB", (4, 4)).save(folder / "a.png")
    (folder / "link.png").symlink_to(out)
    (folder / "relative.png").symlink_to("../secret.png")
    (folder / "linked").symlink_to(folder.parent / "elsewhere")
    (folder / "chain.png").symlink_to("link.png")
    (folder / "circle.png").symlink_to("circle.png")
    (folder / "nothing.png").symlink_to("absent.png")
    (folder / "device.png").symlink_to("/dev/zero")
    (folder / "within").mkdir()
    os.mkfifo(folder / "pipe.png")
    return {name: text.format(out=out) for name, text in NAMES.items()}


NAMES = {
    "up": "../secret.png",
    "up by a folder": "within/../../secret.png",
    "up by an absent folder": "absent/../../secret.png",
    "up twice named": "./.././secret.png",
    "up with many slashes": "..//secret.png",
    "up, backslashes": "..\\secret.png",
    "up, percent": "%2e%2e/secret.png",
    "up, percent twice": "%252e%252e%252fsecret.png",
    "up, wide dots": "\uff0e\uff0e/secret.png",
    "up, wide slash": "..\u2215secret.png",
    "up, dots of one": "\u2025/secret.png",
    "up, then blanks": "../secret.png  ",
    "up, a blank before": " ../secret.png",
    "absolute": "{out}",
    "absolute, two slashes": "/{out}",
    "a file address": "file://{out}",
    "a file address of this machine": "file://localhost{out}",
    "an address": "https://example.org/secret.png",
    "a home": "~/secret.png",
    "the home of root": "~root/secret.png",
    "a variable": "$HOME/secret.png",
    "a drive": "C:\\secret.png",
    "a drive's folder": "C:secret.png",
    "a network name": "\\\\host\\share\\secret.png",
    "a network name, slashes": "//host/share/secret.png",
    "a device of Windows": "\\\\?\\C:\\secret.png",
    "of a process": "/proc/self/environ",
    "a link": "link.png",
    "a relative link": "relative.png",
    "a link to a link": "chain.png",
    "through a linked folder": "linked/secret.png",
    "up through a linked folder": "linked/../secret.png",
    "a circle of links": "circle.png",
    "a link to nothing": "nothing.png",
    "a device": "device.png",
    "a pipe": "pipe.png",
    "a folder": "within",
    "the folder": ".",
    "the folder above": "..",
    "a NUL": "a.png\0",
    "a NUL inside": "a.png\0../secret.png",
    "a new line": "a.png\n../secret.png",
    "a file's file": "a.png/secret.png",
    "a very long name": "x" * 5000,
    "very many folders": "x/" * 3000 + "b.png",
    "very many folders up": "../" * 2000 + "secret.png",
    "controls": "\x1b[2J../secret.png",
    "half a surrogate pair": "\udc80.png",
    "from right to left": "\u202egnp.terces",
}
"""In words -> a name that leaves the folder, or is of no picture in it."""


@dataclass(frozen=True)
class Door:
    """A document that names files, and what is read of them."""

    name: str
    file: str
    write: Callable[[str], str]
    """The document that names one file."""
    enter: Callable[[Path], Any]
    """What is read of the file that the document at this path names."""


def table(*rows: tuple[str, ...]) -> str:
    """CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _picture_of(path: Path) -> Any:
    model = load(LoadOptions(source=str(path.parent)))
    return model.fingerprint


def _labelled(path: Path) -> Any:
    return load_labelled_set(path if path.suffix == ".json" else path.parent).fingerprint


def _task(image: str) -> str:
    chosen = {"type": "choices", "value": {"choices": ["male"]}}
    return json.dumps(
        [{"id": 1, "data": {"image": image}, "annotations": [{"id": 1, "result": [chosen]}]}]
    )


def _images(name: str) -> str:
    return documents.LINES.replace('"a.png"', json.dumps(name))


def _run_beside(images: Path) -> Path:
    run = images.with_name("run.json")
    run.write_text(next(each for each in DOCUMENTS if each.name == "run").text, encoding="utf-8")
    return run


def _sampled(path: Path) -> Any:
    out = path.parent.parent / "out"
    return sample.run(_run_beside(path), out, per_prompt=9, objects=None, seed=0, store=None)


def _exported(path: Path) -> Any:
    out = path.parent.parent / "out"
    return write_tasks(_run_beside(path), out)


LABELS_HEAD = ("file", "label", "annotator")
DOORS = (
    Door(
        "manifest.csv",
        "manifest.csv",
        lambda name: table(("file", "prompt"), (name, "a nurse")),
        _picture_of,
    ),
    Door(
        "manifest.json",
        "manifest.json",
        lambda name: json.dumps([{"file": name, "prompt": "a nurse"}]),
        _picture_of,
    ),
    Door(
        "labels.csv",
        "labels.csv",
        lambda name: table(LABELS_HEAD, (name, "male", "ada")),
        _labelled,
    ),
    Door(
        "log of labels",
        ".labels.log",
        lambda name: json.dumps({"file": name, "annotator": "ada", "label": "male"}) + "\n",
        _labelled,
    ),
    Door("Label Studio", "export.json", _task, _labelled),
    Door(
        "Label Studio, local",
        "export.json",
        lambda name: _task(f"/data/local-files/?d={name}"),
        _labelled,
    ),
    Door(
        "Label Studio, uploaded",
        "export.json",
        lambda name: _task(f"/data/upload/7/0f3e2a1b-{name}"),
        _labelled,
    ),
    Door("images, sampled", "run.images.jsonl", _images, _sampled),
    Door("images, exported", "run.images.jsonl", _images, _exported),
)


def is_taken(door: Door, folder: Path, name: str) -> bool:
    """Whether the file of that name is read; anything but an error of ours goes through."""
    (folder / door.file).write_bytes(door.write(name).encode("utf-8", "surrogateescape"))
    try:
        door.enter(folder / door.file)
    except T2IError:
        return False
    return True


def enter_all(folder: Path, tally: Tally) -> None:
    """Every name at every door."""
    for door in DOORS:
        place = folder / door.name / "here"
        for words, name in write_surroundings(place).items():
            with chdir(place):  # where a run's names begin
                problem = _problem(door, place, name)
            tally.tried("names of files")
            tally.check(not problem, f"{door.name}: {words}: {problem}")


def _problem(door: Door, folder: Path, name: str) -> str:
    try:
        return "a file elsewhere is read" if is_taken(door, folder, name) else ""
    except Exception as error:  # noqa: BLE001 - that is the question
        return f"{type(error).__name__}: {error}"
