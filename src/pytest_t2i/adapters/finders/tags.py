"""Tags, the names to search for in a picture: from a vocabulary, Florence-2 or RAM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_t2i.errors import FileFormatError
from pytest_t2i.read_files import read_text

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

FLORENCE = "florence-community/Florence-2-base"
"""Florence-2 in the layout that transformers loads without remote code."""
TASK = "<OD>"
"""Florence-2's task of object detection, of whose result the names are used."""
NAMES, LIMITS = "ram_tag_list.txt", "ram_tag_list_threshold.txt"
"""RAM's files of tags, one a line, and of their least probabilities."""
RAM_FILES = (
    "a folder with RAM's files, ram_swin_large_14m.pth (hub: xinyu1205/recognize_anything_model), "
    f"{NAMES} and {LIMITS} (ram/data in the authors' repository xinyu1205/recognize-anything)"
)
NEW_TOKENS = 256
MOST_LETTERS = 60
"""Largest length of a name in a vocabulary."""


class Tags(Protocol):
    """A source of tags for pictures."""

    @property
    def facts(self) -> Mapping[str, str]:
        """All that changes the names."""

    def tags(self, image: Image) -> list[str]:
        """Names for one RGB picture, each once, in lower case."""


class TagVocabulary:
    """The same names for every picture."""

    def __init__(self, words: Sequence[str], place: str = "given") -> None:
        """Args: the names, and their file for messages."""
        self._words = list(dict.fromkeys(" ".join(word.lower().split()) for word in words))
        self._words = [word for word in self._words if word]
        if not self._words:
            raise FileFormatError(Path(place), "expected a vocabulary of at least one name.")
        long = [word for word in self._words if len(word) > MOST_LETTERS or "." in word]
        if long:
            problem = f"expected a name a line, without a full stop, got {long[0][:40]!r}."
            raise FileFormatError(Path(place), problem)

    @classmethod
    def read(cls, path: Path) -> TagVocabulary:
        """Read a text file with one name a line.

        Raises:
            FileFormatError: the file is empty, or a line is no name.
        """
        return cls(read_text(path, kind="vocabulary").splitlines(), str(path))

    @property
    def facts(self) -> Mapping[str, str]:
        return {"tags": ", ".join(self._words)}

    def tags(self, image: Image) -> list[str]:
        del image
        return self._words


class FlorenceTags:
    """Names of the objects that Florence-2 detects (Xiao et al. 2023)."""

    def __init__(self, model: Any, processor: Any, facts: Mapping[str, str]) -> None:
        """Args: the network, the processor, and the facts of the fingerprint."""
        self._model, self._processor, self._facts = model, processor, dict(facts)

    @property
    def facts(self) -> Mapping[str, str]:
        tag_facts = {f"tags: {name}": value for name, value in self._facts.items()}
        return {**tag_facts, "tags": f"florence-2 {TASK}"}

    def tags(self, image: Image) -> list[str]:
        device = self._model.device
        inputs = self._processor(text=TASK, images=image, return_tensors="pt").to(device)
        pixels = inputs["pixel_values"].to(self._model.dtype)
        output_tokens: torch.Tensor = self._model.generate(
            input_ids=inputs["input_ids"], pixel_values=pixels, max_new_tokens=NEW_TOKENS,
            num_beams=3, do_sample=False,
        )  # fmt: skip
        text = self._processor.batch_decode(output_tokens, skip_special_tokens=False)[0]
        return names_in(
            self._processor.post_process_generation(text, task=TASK, image_size=image.size)
        )


def names_in(answer: Mapping[str, Any]) -> list[str]:
    """The names in Florence-2's answer, each once.

    >>> names_in({"<OD>": {"bboxes": [[0, 0, 1, 1]] * 3, "labels": ["Tie", "hat", "tie."]}})
    ['tie', 'hat']
    """
    detections = answer.get(TASK, {})
    labels = detections.get("labels", []) if isinstance(detections, Mapping) else []
    names = (" ".join(str(label).lower().replace(".", " ").split()) for label in labels)
    return list(dict.fromkeys(name for name in names if name))
