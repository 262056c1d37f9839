"""People's labels of images: labels of several annotators, their agreement, and final labels."""

from __future__ import annotations

from pytest_t2i.labels.consensus import agreed, disagreements, open_disagreements
from pytest_t2i.labels.label import (
    ADJUDICATED,
    CLEAR,
    LOW_QUALITY,
    OTHERS,
    UNSETTLED,
    Label,
    Labels,
)
from pytest_t2i.labels.labels_csv import (
    FILE_NAME,
    choose_vocabulary,
    compact,
    forget,
    image_files,
    prompts_of,
    questions_of,
    read_labels,
    record,
    write_labels,
)
from pytest_t2i.labels.sets import (
    LabelledImage,
    LabelledSet,
    load_labelled_set,
    open_picture,
    picture_file,
    state_of,
)
from pytest_t2i.labels.vocabulary import RULES, Choice, Vocabulary, named, vocabulary_of

__all__ = [
    "ADJUDICATED",
    "CLEAR",
    "FILE_NAME",
    "LOW_QUALITY",
    "OTHERS",
    "RULES",
    "UNSETTLED",
    "Choice",
    "Label",
    "LabelledImage",
    "LabelledSet",
    "Labels",
    "Vocabulary",
    "agreed",
    "choose_vocabulary",
    "compact",
    "disagreements",
    "forget",
    "image_files",
    "load_labelled_set",
    "named",
    "open_disagreements",
    "open_picture",
    "picture_file",
    "prompts_of",
    "questions_of",
    "read_labels",
    "record",
    "state_of",
    "vocabulary_of",
    "write_labels",
]
