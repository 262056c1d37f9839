"""What people say of images: labels by several annotators, agreement, one final word per image."""

from __future__ import annotations

from pytest_t2i.labels.consensus import agreed, disagreements, open_disagreements
from pytest_t2i.labels.files import (
    FILE_NAME,
    forget,
    image_files,
    prompts_of,
    read_labels,
    record,
    write_labels,
)
from pytest_t2i.labels.label_studio import read_label_studio
from pytest_t2i.labels.records import ADJUDICATED, CLEAR, LABELS, Label
from pytest_t2i.labels.sets import LabelledImage, LabelledSet, load_labelled_set

__all__ = [
    "ADJUDICATED",
    "CLEAR",
    "FILE_NAME",
    "LABELS",
    "Label",
    "LabelledImage",
    "LabelledSet",
    "agreed",
    "disagreements",
    "forget",
    "image_files",
    "load_labelled_set",
    "open_disagreements",
    "prompts_of",
    "read_label_studio",
    "read_labels",
    "record",
    "write_labels",
]
