"""MiVOLO: gender from face and body together (Kuprashevich and Tolstykh 2023).

YOLOv8 finds persons and faces, and the MiVOLO network classifies the face and body crops of the
largest person. The higher of its two gender outputs decides (0 = male), without a threshold. A
picture without person and face is undetected. The detail of a detection names the crops used.

There are two releases of the network. ``iitolstykh/mivolo_v2`` on the Hugging Face hub is loaded
through transformers and contains its own code, which runs only with your consent
(``--t2i-trust-remote-code``). The checkpoint of Lyu Appendix A (model_imdb_cross_person, trained on
IMDB-clean) is a pickle for the network code of the original repository, which is on no package
index. That checkpoint cannot be loaded here, so that Lyu's figures for MiVOLO are those of another
training of the same network.

This project has run neither release. Its tests run this code with a small network that contains its
own code in the same form, and with an untrained YOLOv8. Whether the hub's code works with the
installed transformers is only known when it is first loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from pytest_t2i.adapters.detectors.screening import screened
from pytest_t2i.adapters.devices import (
    loading_weights,
    memory_guard,
    pick_device,
    pick_dtype,
)
from pytest_t2i.adapters.finders.locating import largest_first
from pytest_t2i.adapters.finders.yolo_model import YoloModel
from pytest_t2i.adapters.loading import looks_like_path, needs, remote_code
from pytest_t2i.adapters.picture_files import PictureMemory, in_batches
from pytest_t2i.data import Box, Detection, Undetected, digest
from pytest_t2i.errors import DetectorError, FileFormatError, ModelLoadError
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.read_files import parse_json, read_text

if TYPE_CHECKING:
    from PIL.Image import Image

SMALLEST_BODY = 50
"""Least width and height of a body in pixels."""
LEAST_LEFT = 0.4
"""Least share of a body crop that must remain after trimming."""
ROUNDING = 0.3
"""A blackened person that ends this near an edge is blackened to the edge; and a row or column
is trimmed when all but this share of it is black."""
LEAST_OVERLAP = 1e-4
"""Least overlap at which a face is assigned to a person."""


class PersonsAndFaces(NamedTuple):
    """Boxes of persons and faces in one picture."""

    persons: tuple[Box, ...]
    faces: tuple[Box, ...]


class Subject(NamedTuple):
    """Face and body crop of the classified person; None for a missing or unusable crop."""

    face: np.ndarray | None
    """RGB uint8 [height, width, 3]."""
    body: np.ndarray | None
    """RGB uint8 [height, width, 3]."""

    @property
    def is_visible(self) -> bool:
        return self.face is not None or self.body is not None


def subject(pixels: np.ndarray, boxes: PersonsAndFaces) -> Subject:
    """The largest person with their face; without a person, the largest face.

    The original classifies every person; here a picture has one label.
    """
    if not boxes.persons:
        return Subject(_cut(pixels, boxes.faces[0]) if boxes.faces else None, None)
    owner = assigned(boxes)
    face = next((box for at, box in enumerate(boxes.faces) if owner[at] == 0), None)
    return Subject(_cut(pixels, face) if face else None, body(pixels, boxes))


def assigned(boxes: PersonsAndFaces) -> list[int | None]:
    """For every face, the index of its person, or None.

    Example:
        >>> man, face = Box(0, 0, 10, 30), Box(2, 2, 8, 8)
        >>> assigned(PersonsAndFaces((man,), (face, Box(20, 20, 25, 25))))
        [0, None]
    """
    owner: list[int | None] = [None] * len(boxes.faces)
    if boxes.persons and boxes.faces:
        gains = np.array([[_closeness(p, f) for f in boxes.faces] for p in boxes.persons])
        for person, face in zip(*linear_sum_assignment(gains, maximize=True), strict=True):
            if gains[person, face] > LEAST_OVERLAP:
                owner[face] = int(person)
    return owner


def body(pixels: np.ndarray, boxes: PersonsAndFaces) -> np.ndarray | None:
    """The first person's crop with faces and others blackened; None where too little is left."""
    person = boxes.persons[0]
    crop = _cut(pixels, person)
    if crop is None or min(crop.shape[:2]) < SMALLEST_BODY:
        return None
    for face in boxes.faces:
        _blacken(crop, person, face)
    for neighbour in boxes.persons[1:]:
        _blacken(crop, person, neighbour, to_edges=True)
    trimmed = _trimmed(crop)
    left = trimmed.shape[0] * trimmed.shape[1] / (crop.shape[0] * crop.shape[1])
    return trimmed if left >= LEAST_LEFT else None


def _closeness(person: Box, face: Box) -> float:
    """Mean of two ratios: intersection to face, and intersection to union."""
    shared = _intersection(person, face)
    union = person.area + face.area - shared
    return (shared / face.area + shared / union) / 2 if face.area and union else 0.0


def _intersection(a: Box, b: Box) -> float:
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    return max(width, 0.0) * max(height, 0.0)


def _cut(pixels: np.ndarray, box: Box) -> np.ndarray | None:
    left, top = max(int(box.left), 0), max(int(box.top), 0)
    crop = pixels[top : int(box.bottom), left : int(box.right)].copy()
    return crop if crop.size else None


def _blacken(crop: np.ndarray, person: Box, box: Box, *, to_edges: bool = False) -> None:
    if _intersection(person, box) <= 0:
        return
    height, width = crop.shape[:2]
    left, right = _span(box.left - int(person.left), box.right - int(person.left), width, to_edges)
    top, bottom = _span(box.top - int(person.top), box.bottom - int(person.top), height, to_edges)
    crop[top:bottom, left:right] = 0


def _span(start: float, end: float, length: int, to_edges: bool) -> tuple[int, int]:
    first, last = max(int(start), 0), min(int(end), length)
    if to_edges and first / length < ROUNDING:
        first = 0
    if to_edges and (length - last) / length < ROUNDING:
        last = length
    return first, last


def _trimmed(crop: np.ndarray) -> np.ndarray:
    """The crop without rows and columns at its edges that are nearly all black."""
    black = (crop == 0).all(axis=2)
    # Rows, too, are compared with the crop's height, as in the training of the network.
    most = crop.shape[0] * (1 - ROUNDING)
    rows, columns = black.sum(axis=1) <= most, black.sum(axis=0) <= most
    top, bottom = _ends(rows)
    left, right = _ends(columns)
    return crop[top:bottom, left:right]


def _ends(mask: np.ndarray) -> tuple[int, int]:
    places = np.flatnonzero(mask)
    return (int(places[0]), int(places[-1]) + 1) if len(places) else (0, len(mask))


CONFIDENCE, OVERLAP = 0.4, 0.7
"""Least score of a box, and IoU at which two boxes are merged, as in the original's demo."""
CLASSES = ("person", "face")


class PersonAndFaceFinder:
    """A YOLOv8 with the classes person and face."""

    def __init__(self, weights: Path, device: str) -> None:
        """Read the weights."""
        self._model = YoloModel(weights, device)
        absent = [name for name in CLASSES if name not in self._model.names.values()]
        if absent:
            raise ModelLoadError(
                f"{weights}: expected a YOLO with the classes person and face, such as "
                f"yolov8x_person_face.pt, got one without {absent[0]!r}."
            )
        self._memory: PictureMemory[PersonsAndFaces] = PictureMemory()
        facts = dict(self._model.facts)
        self.facts = {
            "boxes": facts.pop("weights"),
            "confidence": str(CONFIDENCE),
            "overlap": str(OVERLAP),
            **facts,
        }

    def find(self, images: Sequence[Image]) -> list[PersonsAndFaces]:
        """Persons and faces of every picture, each the largest first."""
        # One picture at a time: padding would make a picture's boxes depend on its batch.
        return self._memory.of(images, lambda new: [self._look(image) for image in new])

    def _look(self, image: Image) -> PersonsAndFaces:
        (raw,) = self._model.look([image], "persons and faces", conf=CONFIDENCE, iou=OVERLAP)
        return PersonsAndFaces(*(self._of_class(raw, name) for name in CLASSES))

    def _of_class(self, raw: Any, class_name: str) -> tuple[Box, ...]:
        rows = zip(raw.xyxy.tolist(), raw.conf.tolist(), raw.cls.tolist(), strict=True)
        boxes = [
            Box(left, top, right, bottom, score)
            for (left, top, right, bottom), score, kind in rows
            if self._model.names[int(kind)] == class_name
        ]
        return largest_first(boxes)


with needs("the detector mivolo", "mivolo"):
    import huggingface_hub
    import torch
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    from pytest_t2i.adapters.pretrained import facts_of, from_pretrained, of_revision


DEFAULT = "iitolstykh/mivolo_v2"
BOXES_REPOSITORY, BOXES_FILE = "iitolstykh/YOLO-Face-Person-Detector", "yolov8x_person_face.pt"
"""Repository and file of YOLO's weights on the hub; a local folder may contain the file itself."""
LABELS = ("male", "female")
"""Labels in the order of the outputs."""
BATCH = 16
"""Number of persons in one pass."""


def load(options: LoadOptions) -> Mivolo:
    """Load MiVOLO from the hub or a local copy of its repository.

    Args:
        options: ``source`` is a hub id or folder; "" is iitolstykh/mivolo_v2. YOLO's weights are
            the file yolov8x_person_face.pt in that folder, else the catalogue's weights
            ``mivolo-boxes``, else those on the hub.

    Raises:
        ModelLoadError: no consent to remote code was given, or the weights are absent or damaged.
        ConfigurationError: no such device or dtype.
    """
    source = options.source or DEFAULT
    folder = Path(source).expanduser()
    _check(source, folder, trusted=options.trust_remote_code)
    device = pick_device(options.device)
    dtype = pick_dtype(options.dtype, device)
    place = str(folder) if folder.is_dir() else source
    with loading_weights(source, options.revision):
        model, processor = _parts(place, options.revision, dtype)
        boxes = _boxes_file(folder, options)
        model.to(device).eval()
    _check_order(model, source)
    facts = facts_of(model, source, place, dtype)
    return Mivolo(model, processor, PersonAndFaceFinder(boxes, str(device)), facts, dtype)


class Mivolo:
    """A Detector of the gender of the largest person."""

    labels = LABELS

    def __init__(
        self,
        model: Any,
        processor: Any,
        boxes: PersonAndFaceFinder,
        facts: Mapping[str, str],
        dtype: torch.dtype,
    ) -> None:
        """Args: network, processor, person and face detector, facts of the fingerprint, dtype."""
        self._model, self._processor, self._boxes = model, processor, boxes
        self._facts, self._dtype = {**boxes.facts, **facts}, dtype

    @cached_property
    def fingerprint(self) -> str:
        """Hash of weights and code, boxes, thresholds, dtype, device type and libraries."""
        return digest(["mivolo", self._facts])

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable."""
        return dict(self._facts)

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, self._look)

    def _look(self, images: Sequence[Image]) -> list[Detection]:
        boxes = self._boxes.find(images)
        subjects = [subject(np.asarray(i), b) for i, b in zip(images, boxes, strict=True)]
        visible = [someone for someone in subjects if someone.is_visible]
        outputs = iter(in_batches(visible, BATCH, self._genders))
        return [
            decide_people(next(outputs), of_image, someone)
            if someone.is_visible
            else nobody(of_image)
            for of_image, someone in zip(boxes, subjects, strict=True)
        ]

    def _genders(self, subjects: Sequence[Subject]) -> np.ndarray:
        with memory_guard("looking at persons"), torch.no_grad():
            answer = self._model(
                faces_input=self._pixels([someone.face for someone in subjects]),
                body_input=self._pixels([someone.body for someone in subjects]),
            )
        raw = getattr(answer, "raw_gender_output", None)
        if raw is None or tuple(raw.shape) != (len(subjects), 2) or not torch.isfinite(raw).all():
            raise DetectorError(
                "MiVOLO: expected two finite gender outputs per person, got something else. Its "
                "weights are damaged, or its code does not work with the installed transformers: "
                "download the weights again, or install another version of transformers."
            )
        outputs: np.ndarray = raw.float().cpu().numpy()
        return outputs

    def _pixels(self, crops: Sequence[np.ndarray | None]) -> torch.Tensor:
        # The released processor expects colours in OpenCV's order, and None for a missing crop.
        bgr_crops = [
            None if crop is None else np.ascontiguousarray(crop[:, :, ::-1]) for crop in crops
        ]
        pixels: torch.Tensor = self._processor(images=bgr_crops)["pixel_values"]
        return pixels.to(self._model.device, self._dtype)


def decide_people(outputs: np.ndarray, boxes: PersonsAndFaces, seen: Subject) -> Detection:
    """The detection for the two gender outputs of one person.

    Example:
        >>> from pytest_t2i.data import Box
        >>> pixels = np.zeros((9, 9, 3), np.uint8)
        >>> boxes = PersonsAndFaces((Box(0, 0, 9, 9),), ())
        >>> told = decide_people(np.array([0.0, 2.0]), boxes, Subject(None, pixels))
        >>> told.label, told.detail
        ('female', 'body; 1 person')
    """
    shares = np.exp(outputs - outputs.max()).astype(float)
    shares /= shares.sum()
    scores = {label: float(p) for label, p in zip(LABELS, shares, strict=True)}
    crop_names = [
        name for name, crop in (("face", seen.face), ("body", seen.body)) if crop is not None
    ]
    count = len(boxes.persons) or len(boxes.faces)
    what = "person" if boxes.persons else "face"
    count_words = "1 " + what if count == 1 else f"{count} {what}s, the largest decides"
    label = LABELS[int(outputs.argmax())]
    return Detection(label, None, scores, f"{' and '.join(crop_names)}; {count_words}")


def nobody(boxes: PersonsAndFaces) -> Detection:
    """The detection for a picture without a usable crop."""
    if boxes.persons:
        detail = "the person is too small or hidden"
        return Detection(None, Undetected.LOW_CONFIDENCE, detail=detail)
    return Detection(None, Undetected.NO_PERSON)


def _check(source: str, folder: Path, *, trusted: bool) -> None:
    if source.endswith((".pth.tar", ".pth", ".pt")):
        raise ModelLoadError(
            f"{source} is a checkpoint for the network code of the original repository, which "
            f"cannot be installed from a package index. Use {DEFAULT}, or a local copy of it."
        )
    if not folder.is_dir() and (looks_like_path(source) or folder.exists()):
        raise ModelLoadError(
            f"{folder}: expected a folder with a copy of {DEFAULT}, or a hub id, and there is no "
            "such folder."
        )
    if folder.is_dir() and not _brings_code(folder):
        raise ModelLoadError(
            f"{folder}: expected a copy of {DEFAULT}, with a config.json that names its code. "
            f"Download it with `hf download {DEFAULT} --local-dir FOLDER`."
        )
    if not trusted:
        raise ModelLoadError(remote_code(source))


def _brings_code(folder: Path) -> bool:
    path = folder / "config.json"
    try:
        return "auto_map" in parse_json(path, read_text(path))
    except (FileFormatError, TypeError):
        return False


def _parts(place: str, revision: str | None, dtype: torch.dtype) -> tuple[Any, Any]:
    remote = {**of_revision(revision), "trust_remote_code": True}
    model = from_pretrained(AutoModelForImageClassification, place, dtype, **remote)
    return model, AutoImageProcessor.from_pretrained(place, **remote)


def _boxes_file(folder: Path, options: LoadOptions) -> Path:
    beside = folder / BOXES_FILE
    if beside.is_file():
        return beside
    setting = options.extra.get("weights", {}).get("mivolo-boxes", "")
    if setting:
        return Path(setting).expanduser()
    return Path(huggingface_hub.hf_hub_download(BOXES_REPOSITORY, BOXES_FILE))


def _check_order(model: Any, source: str) -> None:
    """Raise ModelLoadError where the network's config declares another order of its outputs."""
    labels = getattr(model.config, "gender_id2label", None)
    if labels and [str(labels.get(at, labels.get(str(at)))).lower() for at in (0, 1)] != list(
        LABELS
    ):
        raise ModelLoadError(
            f"expected {source!r} to name its gender outputs {', '.join(LABELS)}, got {labels!r}"
        )
