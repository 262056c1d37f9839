"""``t2i export labelstudio``: images of a folder or a run as tasks for Label Studio."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pytest_t2i import labels
from pytest_t2i.cli.report import located
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import write_whole
from pytest_t2i.labels import Vocabulary
from pytest_t2i.labels.label_studio_tasks import Task, interface, tasks
from pytest_t2i.runs.picture_folders import exists
from pytest_t2i.runs.read_run import read_run
from pytest_t2i.runs.record import ImageRecord, RunRecord

TASKS, INTERFACE = "tasks.json", "interface.xml"


def write_tasks(
    source: Path,
    output: Path | None,
    *,
    predictions: bool,
    annotations: bool,
    store: Path | None = None,
) -> Path:
    """Write tasks.json and interface.xml; returns the folder that Label Studio has to serve.

    ``source`` is a folder of images (its labels are its annotations) or a run.json (its
    detectors' words as predictions). Label Studio's export is read back when it lies in the
    folder that is served.

    Raises:
        ConfigurationError: there is no image, or predictions were asked of a folder.
    """
    if source.is_dir():
        if predictions:
            raise ConfigurationError(
                "--predictions are what detectors said in a run: give its run.json, not a folder"
            )
        root, vocabulary = source, labels.vocabulary_of(source)
        given = list(_of_folder(source, annotations=annotations))
    else:
        record = located(read_run(source), source, [store] if store else [])
        root, given = _of_run(record, source)
        vocabulary = labels.named("gender")
        if predictions:
            _check_labels(given, vocabulary)
    if not given:
        raise ConfigurationError(f"{source} has no image that is still there")
    target = output or Path("labelstudio")
    content = json.dumps(tasks(given, predictions=predictions), indent=1, ensure_ascii=False)
    write_whole(target / TASKS, content.encode())
    write_whole(target / INTERFACE, interface(vocabulary).encode())
    return root


def _of_folder(folder: Path, *, annotations: bool) -> Iterator[Task]:
    said: dict[str, list[tuple[str, str]]] = {}
    for label in labels.read_labels(folder) if annotations else ():
        said.setdefault(label.file, []).append((label.annotator, label.label))
    prompts = labels.prompts_of(folder)
    for file in labels.image_files(folder):
        yield Task(file, prompts.get(file, ""), labels=said.get(file, ()))


def _of_run(record: RunRecord, source: Path) -> tuple[Path, list[Task]]:
    """The folder that holds every image of the run, and a task for each."""
    images = [
        (prompt.text, image, Path(image.file).absolute())
        for prompt in record.prompts
        for image in prompt.images
        if image.file and exists(image.file)
    ]
    if not images:
        raise ConfigurationError(f"{source} names no image that is still there")
    root = images[0][2].parent
    while not all(path.is_relative_to(root) for _, _, path in images):
        root = root.parent
    given = [
        Task(path.relative_to(root).as_posix(), text, record.model, _said(image))
        for text, image, path in images
    ]
    return root, given


def _said(image: ImageRecord) -> dict[str, tuple[str, float | None]]:
    return {
        name: (detection.label, detection.scores.get(detection.label))
        for name, detection in image.detections.items()
        if detection.label is not None
    }


def _check_labels(given: list[Task], vocabulary: Vocabulary) -> None:
    strange = {label for task in given for label, _ in task.said.values()} - set(vocabulary.names)
    if strange:
        raise ConfigurationError(
            f"the detectors said {', '.join(sorted(strange))}, which is none of "
            f"{', '.join(vocabulary.names)}: leave --predictions out, or label a folder that "
            "t2i sample made, with t2i label FOLDER --labels ..."
        )
