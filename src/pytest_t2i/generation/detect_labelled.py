"""Has detectors look at labelled images; what they said before is not asked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_t2i.adapters.support.decoding import is_black, readable
from pytest_t2i.data import Detection, Undetected
from pytest_t2i.errors import DetectorError, blamed
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.detect import DEFAULT_BATCH
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.progress import Progress
from pytest_t2i.generation.store import Store
from pytest_t2i.labels import LabelledImage, LabelledSet

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(slots=True)
class Examiner:
    """Looks at labelled images; detections are kept by the content of the file."""

    components: Components
    store: Store
    progress: Progress
    batch: int | None = None
    detected: int = 0
    """Detections made so far."""

    def examine(self, labelled: LabelledSet, detectors: Sequence[str]) -> None:
        """Have every detector say something of every image.

        A kill at any moment loses at most the batch in flight.
        """
        size = self.batch or DEFAULT_BATCH
        keys = [labelled.checksums[image.file] for image in labelled]
        unseen = {name: set(keys) - set(self._seen(name, keys)) for name in detectors}
        todo = [
            image
            for image, key in zip(labelled, keys, strict=True)
            if any(key in missing for missing in unseen.values())
        ]
        if not todo:
            return
        self.progress.start("looking at labelled images", len(todo))
        try:
            for start in range(0, len(todo), size):
                part = todo[start : start + size]
                self._look(labelled, part, unseen)
                self.progress.advance(len(part))
        finally:
            self.progress.stop()

    def detections(self, fingerprint: str, keys: Sequence[str]) -> list[Detection]:
        """What the detector with this fingerprint said of each image."""
        found = self.store.detections(list(dict.fromkeys(keys)), fingerprint)
        return [found[key] for key in keys]

    def _seen(self, name: str, keys: Sequence[str]) -> list[str]:
        fingerprint = self.components.detector(DetectorRef(name)).fingerprint
        return list(self.store.detections(keys, fingerprint))

    def _look(
        self, labelled: LabelledSet, part: Sequence[LabelledImage], unseen: dict[str, set[str]]
    ) -> None:
        # Opened once for all detectors, so that those on the same CLIP encode a picture once.
        opened = {labelled.checksums[one.file]: _open(labelled, one) for one in part}
        for name, missing in unseen.items():
            wanted = {key: picture for key, picture in opened.items() if key in missing}
            if wanted:
                self._detect(name, wanted)

    def _detect(self, name: str, pictures: dict[str, Image | None]) -> None:
        handle = self.components.detector(DetectorRef(name))
        found = {key: _hopeless(picture) for key, picture in pictures.items()}
        visible = {key: picture for key, picture in pictures.items() if found[key] is None}
        if visible:
            with blamed(DetectorError, "detector", name):
                said = list(handle.get().detect([p for p in visible.values() if p is not None]))
            if len(said) != len(visible):
                raise DetectorError(
                    f"detector {name!r}: expected {len(visible)} answers for as many images, "
                    f"got {len(said)}"
                )
            found |= dict(zip(visible, said, strict=True))
        known = {key: one for key, one in found.items() if one is not None}
        self.store.add_detections(handle.fingerprint, known)
        self.detected += len(known)


def _hopeless(picture: Image | None) -> Detection | None:
    if picture is None:
        return Detection(None, Undetected.UNREADABLE)
    return Detection(None, Undetected.BLACK_IMAGE) if is_black(picture) else None


def _open(labelled: LabelledSet, image: LabelledImage) -> Image | None:
    from PIL import Image as Images

    try:
        with Images.open(labelled.path(image)) as opened:
            return readable(opened)
    except (OSError, SyntaxError, ValueError, Images.DecompressionBombError):
        return None
