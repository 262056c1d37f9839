"""Run detectors on labelled images; the detections are stored under the images' checksums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_t2i.adapters.support.black_or_unreadable import gate
from pytest_t2i.adapters.support.picture_files import picture_in
from pytest_t2i.data import Detection, Undetected
from pytest_t2i.errors import StoreError
from pytest_t2i.generation.detect import Observer, Pictures
from pytest_t2i.generation.plan import DetectorRef, ImageNeeds
from pytest_t2i.generation.store import Store
from pytest_t2i.labels import LabelledImage, LabelledSet

if TYPE_CHECKING:
    from PIL.Image import Image


def look_at_labelled(observer: Observer, labelled: LabelledSet, detectors: Sequence[str]) -> None:
    """Run every detector on every labelled image."""
    by_key = {labelled.checksums[image.file]: image for image in labelled}
    refs = {DetectorRef(name) for name in detectors}
    needs = {key: ImageNeeds(detectors=refs) for key in by_key}
    pictures = Pictures(needs, lambda key: _open(labelled, by_key[key]))
    observer.look(pictures, "looking at labelled images")


def detections_of(store: Store, fingerprint: str, keys: Sequence[str]) -> list[Detection]:
    """Detections of the detector with this fingerprint, one for each image."""
    known = store.detections(list(dict.fromkeys(keys)), fingerprint)
    return [known[key] for key in keys]


def _open(labelled: LabelledSet, image: LabelledImage) -> Image | Undetected:
    path = labelled.path(image)
    try:
        content = path.read_bytes()
    except OSError as error:
        # The fault may pass and says nothing of the picture: nothing is stored.
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}.") from None
    return gate(picture_in(content))
