"""``t2i label studio``: write the images of a folder or a run as tasks for Label Studio."""

from __future__ import annotations

import argparse
import json
import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_t2i import (
    Detection,
    RunRecord,
    T2IError,
    arguments,
    labels,
    locate_pictures,
    read_run,
    say,
    write_whole,
)
from pytest_t2i.labels import Vocabulary

from pytest_t2i_labelling.label_studio.tasks import Task, interface, tasks

TASKS, INTERFACE = "tasks.json", "interface.xml"
FOLDER = Path("labelstudio")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the images, and what the tasks contain."""
    parser.description = "Write images as tasks for Label Studio, with its labelling interface."
    parser.add_argument(
        "source", metavar="SOURCE", type=arguments.path, help="folder of images, or run.json"
    )
    parser.add_argument(
        "--output", metavar="DIR", type=arguments.path, default=FOLDER,
        help=f"folder to write {TASKS} and {INTERFACE} to (default: {FOLDER})",
    )  # fmt: skip
    parser.add_argument(
        "--predictions", action="store_true", help="run.json only: add the predicted labels"
    )
    parser.add_argument(
        "--annotations", action="store_true",
        help="folder only: add the labels that people gave; Label Studio must have users of these "
        "names",
    )  # fmt: skip
    parser.add_argument(
        "--store", metavar="DIR", type=arguments.path,
        help="run.json only: store of its images (default: a .t2i beside or above the run)",
    )  # fmt: skip


def run(
    source: Path,
    output: Path,
    *,
    predictions: bool,
    annotations: bool,
    store: Path | None,
) -> int:
    """Write tasks and interface, and print the folder that Label Studio has to serve; return 0.

    Raises:
        T2IError: there is no image, or an option does not fit the source.
    """
    root = write_tasks(
        source, output, predictions=predictions, annotations=annotations, store=store
    )
    say(
        f"{output}: let Label Studio serve {root.absolute()} as local files. Put its JSON "
        "export into that folder, and pass the export to --t2i-labels"
    )
    return 0


def write_tasks(
    source: Path,
    output: Path,
    *,
    predictions: bool = False,
    annotations: bool = False,
    store: Path | None = None,
) -> Path:
    """Write tasks.json and interface.xml; return the folder that Label Studio has to serve.

    ``source`` is a folder of images, whose labels become annotations, or a run.json, whose
    predicted labels become predictions. An export of Label Studio can be read where it lies in the
    folder that is served.

    Raises:
        T2IError: there is no image, or predictions were asked of a folder.
    """
    if source.is_dir():
        for option, is_given in (("--predictions", predictions), ("--store", store)):
            if is_given:
                raise T2IError(f"{option} needs a run: expected a run.json, got a folder")
        root, vocabulary = source, labels.vocabulary_of(source)
        given = list(_of_folder(source, annotations=annotations))
    else:
        if annotations:
            raise T2IError("--annotations needs a folder of labelled pictures, got a run.json")
        record = locate_pictures(read_run(source), source, [store] if store else [])
        root, given = _of_run(record, source)
        vocabulary = labels.named("gender")
        if predictions:
            _check_labels(given, vocabulary)
    if not given:
        raise T2IError(f"{source} has no image that is still there")
    content = json.dumps(tasks(given, predictions=predictions), indent=1, ensure_ascii=False)
    write_whole(output / TASKS, content.encode())
    write_whole(output / INTERFACE, interface(vocabulary).encode())
    return root


def _of_folder(folder: Path, *, annotations: bool) -> Iterator[Task]:
    said: dict[str, list[tuple[str, str]]] = {}
    for label in labels.read_labels(folder) if annotations else ():
        said.setdefault(label.file, []).append((label.annotator, label.label))
    prompts = labels.prompts_of(folder)
    for file in labels.image_files(folder):
        yield Task(file, prompts.get(file, ""), labels=said.get(file, ()))


def _of_run(record: RunRecord, source: Path) -> tuple[Path, list[Task]]:
    """Return the folder that holds every image of the run, and a task for each image."""
    images = [
        (prompt.text, image.detections, Path(image.file).absolute())
        for prompt in record.prompts
        for image in prompt.images
        # Unlike pathlib, os.path does not raise for names that no file can have.
        if image.file and os.path.exists(image.file)  # noqa: PTH110
    ]
    if not images:
        raise T2IError(f"{source} names no image that is still there")
    root = images[0][2].parent
    while not all(file.is_relative_to(root) for _, _, file in images):
        root = root.parent
    given = [
        Task(file.relative_to(root).as_posix(), text, record.model, _said(detections))
        for text, detections, file in images
    ]
    return root, given


def _said(detections: Mapping[str, Detection]) -> dict[str, tuple[str, float | None]]:
    return {
        name: (detection.label, detection.scores.get(detection.label))
        for name, detection in detections.items()
        if detection.label is not None
    }


def _check_labels(given: list[Task], vocabulary: Vocabulary) -> None:
    strange = {label for task in given for label, _ in task.said.values()} - set(vocabulary.names)
    if strange:
        raise T2IError(
            f"--predictions: the predicted labels {', '.join(sorted(strange))} are none of "
            f"{', '.join(vocabulary.names)}. Leave --predictions out, or label a folder that "
            "t2i label export made, with t2i label page FOLDER --labels ..."
        )
