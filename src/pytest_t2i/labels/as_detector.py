"""People's labels as a detector, for groups that no classifier knows, such as Monk's skin tones.

A picture is recognized by its pixels, whatever the name of its file. A picture without a label, or
with a label that is unsettled or does not count (low quality), is undetected and never a group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_t2i.adapters.black_or_unreadable import picture_digest
from pytest_t2i.adapters.detectors.screening import screened
from pytest_t2i.data import Detection, Undetected, digest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.labels.label import UNSETTLED
from pytest_t2i.labels.sets import LabelledSet, load_labelled_set, open_picture
from pytest_t2i.protocols import LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image

NO_LABEL = "nobody labelled it"
UNSETTLED_TOLD = "people labelled it differently: settle it with t2i label page FOLDER --review"


def load(options: LoadOptions) -> People:
    """Load the labels of a folder as a detector: ``--t2i-detector people:FOLDER``.

    Args:
        options: ``source`` is the folder with labels.csv (and labels.toml), or a label file of
            another program.

    Raises:
        ConfigurationError: no folder was given, or it holds no label.
        FileFormatError: labels are malformed.
    """
    if not options.source:
        raise ConfigurationError(
            "the detector people reads the labels of a folder, and none was given. Write "
            "people:FOLDER, where FOLDER holds the pictures and their labels.csv (t2i label page)"
        )
    return People(load_labelled_set(options.source))


class People:
    """A Detector that returns people's labels.

    ``labelled`` holds the pictures with their labels; its vocabulary gives the detector's labels.
    """

    def __init__(self, labelled: LabelledSet) -> None:
        self.labels = labelled.vocabulary.clear
        self.fingerprint = digest(["people", labelled.fingerprint, self.labels])
        self.provenance = {
            "labels": str(labelled.folder), "annotators": str(len(labelled.annotators)),
            **({"notes": "; ".join(labelled.notes)} if labelled.notes else {}),
        }  # fmt: skip
        self._said = {_pixels_in(labelled, image.file): image.label for image in labelled}

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """Return a label, or the reason why there is none, for each picture."""
        return screened(
            images, lambda new: [_detection(self._said, self.labels, image) for image in new]
        )


def _detection(
    labels_by_digest: Mapping[bytes, str], labels: Sequence[str], image: Image
) -> Detection:
    word = labels_by_digest.get(picture_digest(image))
    if word in labels:
        return Detection(word)
    detail = {None: NO_LABEL, UNSETTLED: UNSETTLED_TOLD}.get(word, f"labelled {word}")
    return Detection(None, Undetected.LOW_CONFIDENCE, detail=detail)


def _pixels_in(labelled: LabelledSet, file: str) -> bytes:
    picture = open_picture(labelled.folder / file)
    return file.encode() if picture is None else picture_digest(picture)
