"""Objects by Grounded-SAM (Ren et al. 2024; Wu section 5.1), through transformers.

Tags name the objects to search for, GroundingDINO gives their boxes, and SAM their masks. The tags
come from Florence-2, from RAM (as in Wu; its files must be given), or from a vocabulary, which is
then the same for every picture.

This project has never run the published weights. It tests tiny random models of the same classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_t2i.adapters.devices import loading_weights, memory_guard, pick_device
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.finders.object_finder import ObjectFinderBase
from pytest_t2i.adapters.finders.tags import FLORENCE, RAM_FILES, FlorenceTags, Tags, TagVocabulary
from pytest_t2i.adapters.finders.yolo_objects import box_of
from pytest_t2i.adapters.loading import folder_or_hub_id, needs
from pytest_t2i.data import FoundObject, Mask
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import stamps
from pytest_t2i.protocols import LoadOptions

with needs("the object finder grounded-sam", "grounded-sam"):
    import torch
    from torchvision.ops import batched_nms
    from transformers import (
        Florence2ForConditionalGeneration,
        Florence2Processor,
        GroundingDinoForObjectDetection,
        GroundingDinoProcessor,
        SamModel,
        SamProcessor,
    )

    from pytest_t2i.adapters.pretrained import facts_of, from_pretrained

if TYPE_CHECKING:
    from PIL.Image import Image

DINO = "IDEA-Research/grounding-dino-tiny"
SAM = "facebook/sam-vit-huge"
"""Weights of Wu section 5.1: Grounding DINO-T and ViT-H."""
BOX, TEXT, OVERLAP = 0.25, 0.2, 0.5
"""Least score of a box and of its name, largest IoU of two boxes: Grounded-SAM's own values."""
RAM = "ram"
"""Name of RAM's folder in an alias."""
AT_ONCE = 40
"""Number of names in one text, as GroundingDINO reads 256 tokens."""


class Weights(NamedTuple):
    """Sources of the parts; at most one of the first two is given, the other is ""."""

    vocabulary: str
    ram: str
    florence: str
    dino: str
    sam: str


def load(options: LoadOptions) -> GroundedSam:
    """Load Grounded-SAM, once per weights and device in a process.

    Args:
        options: ``source`` is a vocabulary (a .txt file with one name a line) or a folder with
            RAM's files; with "" Florence-2 gives the tags. An alias of the catalogue may name
            ``vocabulary``, ``ram``, ``florence-2``, ``grounding-dino`` and ``sam``: hub ids or
            folders.

    Raises:
        MissingExtraError: transformers or torchvision is not installed, or timm for RAM.
        ModelLoadError: weights are absent, damaged or of another kind.
        FileFormatError: the vocabulary is empty, or RAM's files do not fit each other.
        ConfigurationError: no such device, or the folder of RAM lacks its files.
    """
    device = pick_device(options.device)
    weights_by_part: Mapping[str, Any] = options.extra.get("weights", {})
    source = options.source or str(
        weights_by_part.get("vocabulary", "") or weights_by_part.get(RAM, "")
    )
    if source and Path(source).suffix != ".txt" and not Path(source).expanduser().is_dir():
        raise ConfigurationError(
            f"grounded-sam:{source}: expected a vocabulary, a .txt file with one name a line; "
            f"{RAM_FILES}; or an alias of the catalogue for its weights."
        )
    tags = Path(source).expanduser() if source else None
    weights = Weights(
        source if tags and tags.suffix == ".txt" else "",
        source if tags and tags.suffix != ".txt" else "",
        str(weights_by_part.get("florence-2", FLORENCE)),
        str(weights_by_part.get("grounding-dino", DINO)),
        str(weights_by_part.get("sam", SAM)),
    )
    key = ("grounded-sam", weights, tuple(stamps(tags)) if tags else None, device)
    return shared(key, lambda: GroundedSam(weights, device))


class GroundedSam(ObjectFinderBase):
    """An ObjectFinder that gives names, boxes and masks."""

    batch = 1

    def __init__(self, weights: Weights, device: torch.device) -> None:
        """Args: sources of the weights, and the device."""
        self._device = device
        self._tags: Tags = _tags(weights, device)
        self._dino, self._asking, of_dino = _part(
            GroundingDinoForObjectDetection, GroundingDinoProcessor, weights.dino, device
        )
        self._sam, self._cutting, of_sam = _part(SamModel, SamProcessor, weights.sam, device)
        super().__init__(
            {
                **self._tags.facts,
                **{f"boxes: {name}": value for name, value in of_dino.items()},
                **{f"masks: {name}": value for name, value in of_sam.items()},
                "thresholds": f"box {BOX}, text {TEXT}, overlap {OVERLAP}",
            }
        )

    def _find(self, images: Sequence[Image]) -> list[list[FoundObject]]:
        with memory_guard("looking for objects"), torch.no_grad():
            return [self._objects(image) for image in images]

    def _objects(self, image: Image) -> list[FoundObject]:
        boxes = list(self._boxes(image))
        if not boxes:
            return []
        names, corners, scores = zip(*boxes, strict=True)
        numbers = torch.tensor([sorted(set(names)).index(name) for name in names])
        indices = batched_nms(
            torch.tensor(corners), torch.tensor(scores), numbers, OVERLAP
        ).tolist()
        masks = self._masks(image, [list(corners[k]) for k in indices])
        return [
            FoundObject(names[k], box_of(corners[k], scores[k]), mask)
            for k, mask in zip(indices, masks, strict=True)
        ]

    def _boxes(self, image: Image) -> Iterator[tuple[str, tuple[float, ...], float]]:
        """Name, corners and score of every object that the tags name."""
        tags = self._tags.tags(image)
        for start in range(0, len(tags), AT_ONCE):
            some = tags[start : start + AT_ONCE]
            inputs = self._asking(images=image, text=f"{'. '.join(some)}.", return_tensors="pt")
            inputs = inputs.to(self._device)
            (result,) = self._asking.post_process_grounded_object_detection(
                self._dino(**inputs), inputs["input_ids"], threshold=BOX, text_threshold=TEXT,
                target_sizes=[image.size[::-1]],
            )  # fmt: skip
            # The library gives an empty name even where there is no box.
            rows = zip(
                result["boxes"].tolist(), result["scores"].tolist(), result["text_labels"],
                strict=False,
            )  # fmt: skip
            for corners, score, name in rows:
                tag = _nearest(str(name), some)
                if tag:
                    yield tag, _within(corners, image.size), score

    def _masks(self, image: Image, boxes: list[list[float]]) -> list[Mask]:
        inputs = self._cutting(image, input_boxes=[boxes], return_tensors="pt").to(self._device)
        sizes, prepared = inputs.pop("original_sizes"), inputs.pop("reshaped_input_sizes")
        outputs = self._sam(**inputs, multimask_output=False)
        (masks,) = self._cutting.image_processor.post_process_masks(
            outputs.pred_masks.cpu(), sizes.cpu(), prepared.cpu()
        )
        return [Mask.of(mask[0].numpy()) for mask in masks]


def _within(corners: Sequence[float], size: tuple[int, int]) -> tuple[float, ...]:
    width, height = size
    most = (width, height, width, height)
    return tuple(min(max(value, 0.0), float(end)) for value, end in zip(corners, most, strict=True))


def _nearest(name: str, tags: Sequence[str]) -> str:
    """The tag that best matches a phrase of GroundingDINO; "" where none does.

    >>> _nearest("baseball", ["bat", "baseball bat"]), _nearest("##s", ["bat"])
    ('baseball bat', '')
    """
    words = set(name.lower().split())
    shared_words = [(len(words & set(tag.split())), -len(tag.split()), tag) for tag in tags]
    most, _, tag = max(shared_words)
    return tag if most else ""


def _tags(weights: Weights, device: torch.device) -> Tags:
    if weights.vocabulary:
        return TagVocabulary.read(Path(weights.vocabulary).expanduser())
    if weights.ram:
        # Only RAM needs timm.
        from pytest_t2i.adapters.finders.ram_tags import RamTags

        return RamTags(Path(weights.ram).expanduser(), device)
    model, processor, facts = _part(
        Florence2ForConditionalGeneration, Florence2Processor, weights.florence, device
    )
    return FlorenceTags(model, processor, facts)


def _part(kind: Any, preparing: Any, source: str, device: torch.device) -> tuple[Any, Any, Any]:
    """Load a network and its processor, and return them with the facts of the fingerprint."""
    place = folder_or_hub_id(source)
    with loading_weights(source):
        model = from_pretrained(kind, place, torch.float32).to(device).eval()
        processor = preparing.from_pretrained(place)
    return model, processor, facts_of(model, source, place, torch.float32)
