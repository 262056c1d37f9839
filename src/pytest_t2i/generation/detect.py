"""Have detectors look at pictures: labels, attributes and objects, in batches, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_t2i.adapters.black_or_unreadable import gate
from pytest_t2i.adapters.detectors.rubrics import PRICED
from pytest_t2i.adapters.picture_files import picture_in
from pytest_t2i.data import Detection, Undetected
from pytest_t2i.errors import DetectorError, StoreError, blamed
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.identities import NamedComponent
from pytest_t2i.generation.plan import DetectorRef, ImageNeeds
from pytest_t2i.generation.progress import Progress, Silent
from pytest_t2i.generation.store import Store, StoredImage
from pytest_t2i.labels import LabelledImage, LabelledSet

if TYPE_CHECKING:
    from PIL.Image import Image


from pytest_t2i.generation.detector_calls import (
    Turn,
    check_count,
    checked_objects,
    detections_by,
    in_domain,
)

DEFAULT_BATCH = 16


class EncoderName(str):
    """Name of an encoder."""

    __slots__ = ()


class FinderName(str):
    """Name of an object detector."""

    __slots__ = ()


Task = DetectorRef | EncoderName | FinderName
"""A detector, encoder or object detector that images are passed to."""


class Pictures(NamedTuple):
    """Images to run detectors and encoders on."""

    needs: Mapping[str, ImageNeeds]
    """Store key -> the detectors, encoders and traces needed for the image."""
    open: Callable[[str], Image | Undetected | None]
    """Key -> the picture, or why it needs no detector; None where it cannot be read now."""
    unseen: Mapping[str, Undetected] = {}
    """Key -> why the picture needs no detector, where that is known without opening it."""
    refusals: Mapping[str, str] = {}
    """Key -> the text with which the model refused the request, or the picture that cannot be
    decoded."""

    @classmethod
    def of(
        cls,
        stored: Mapping[str, StoredImage],
        needs: Mapping[str, ImageNeeds],
        opened: Callable[[str], Image | Undetected | None],
    ) -> Pictures:
        """Stored images, with what the store knows of those that show nothing."""
        unseen = {key: image.undetected for key, image in stored.items() if image.undetected}
        return cls(needs, opened, unseen, {key: stored[key].refusal or "" for key in unseen})


@dataclass(slots=True)
class Observer:
    """Runs the needed detectors and encoders on images, and stores the results.

    Results that the store has are not computed again. A kill at any moment loses at most the
    results of one batch.
    """

    components: Components
    store: Store
    progress: Progress = field(default_factory=Silent)
    batch: int | None = None
    turn: Turn = nullcontext
    """Gives a context for work on a device that the model uses, too."""
    detected: int = 0
    """Number of detections made so far."""

    def look(self, pictures: Pictures, title: str = "looking at images") -> None:
        """Compute everything that the store lacks, batch by batch, with progress."""
        unknown = {key for _, missing in self._tasks(pictures) for key in missing}
        todo = [key for key in pictures.needs if key in unknown]
        if not todo:
            return
        size = self.batch or DEFAULT_BATCH
        self.progress.start(title, len(todo))
        try:
            for start in range(0, len(todo), size):
                part = todo[start : start + size]
                needs = {key: pictures.needs[key] for key in part}
                self.look_at(pictures._replace(needs=needs))
                self.progress.advance(len(part))
        finally:
            self.progress.stop()

    def look_at(self, pictures: Pictures) -> None:
        """Compute everything that the store lacks of a few images; each is opened once."""
        images: dict[str, Image | Undetected | None] = {}
        for task, missing in self._tasks(pictures):
            for key in missing:
                if key not in images:
                    images[key] = pictures.unseen.get(key) or pictures.open(key)
            legible = [key for key in missing if images[key] is not None]
            if isinstance(task, EncoderName):
                self._encode(task, legible, images)
            elif isinstance(task, FinderName):
                self._find(task, legible, images)
            else:
                self._detect(task, legible, images, pictures.refusals)

    def left_to_judge(self, needs: Mapping[str, ImageNeeds]) -> int:
        judges = (
            set(missing) for task, missing in self._tasks(Pictures(needs, lambda _: None))
            if isinstance(task, DetectorRef) and task.name.startswith(PRICED)
        )  # fmt: skip
        return len(set().union(*judges))

    def load(self, needs: Iterable[ImageNeeds]) -> None:
        """Load what the images need; an error is left to the first picture."""
        for _, part in self._parts(needs):
            with suppress(Exception):
                part.get()

    def _parts(self, needs: Iterable[ImageNeeds]) -> Iterator[tuple[Task, NamedComponent[Any]]]:
        listed = list(needs)
        for ref in _in_order({ref for need in listed for ref in need.detectors}):
            yield ref, self.components.detector(ref)
        for name in sorted({name for need in listed for name in need.encoders}):
            yield EncoderName(name), self.components.encoder(name)
        for name in sorted({name for need in listed for name in need.finders}):
            yield FinderName(name), self.components.finder(name)

    def _tasks(self, pictures: Pictures) -> Iterator[tuple[Task, list[str]]]:
        """Each detector, encoder or object detector with the images that it has not processed."""
        for task, part in self._parts(pictures.needs.values()):
            stored: Callable[[Sequence[str], str], Mapping[str, Any]] = self.store.detections
            if isinstance(task, DetectorRef):
                keys = [key for key, need in pictures.needs.items() if task in need.detectors]
            else:
                is_encoder = isinstance(task, EncoderName)
                stored = self.store.arrays if is_encoder else self.store.objects
                keys = [
                    key
                    for key, need in pictures.needs.items()
                    if task in (need.encoders if is_encoder else need.finders)
                    and key not in pictures.unseen
                ]
            results = stored(keys, part.fingerprint)
            if missing := [key for key in keys if key not in results]:
                yield task, missing

    def _encode(self, name: str, keys: Sequence[str], images: Mapping[str, Any]) -> None:
        part = self.components.encoder(name)
        features = self._answers("encoder", part, lambda: part.get().encode, keys, images)
        self.store.add_arrays(part.fingerprint, features)

    def _find(self, name: str, keys: Sequence[str], images: Mapping[str, Any]) -> None:
        part = self.components.finder(name)
        answers = self._answers("object detector", part, lambda: part.get().objects, keys, images)
        objects = {
            key: checked_objects(answer, images[key].size, name) for key, answer in answers.items()
        }
        self.store.add_objects(part.fingerprint, objects)

    def _answers(
        self,
        kind: str,
        part: NamedComponent[Any],
        ask: Callable[[], Callable[[Sequence[Image]], Iterable[Any]]],
        keys: Sequence[str],
        images: Mapping[str, Any],
    ) -> dict[str, Any]:
        """An encoder's or object detector's answers about the pictures in its domain."""
        visible = [key for key in keys if not isinstance(images[key], Undetected)]
        if not visible:
            return {}
        with blamed(DetectorError, kind, part.name):
            flags = in_domain(kind, part.name, part.get(), [images[key] for key in visible])
            visible = [key for key, is_known in zip(visible, flags, strict=True) if is_known]
            pictures = [images[key] for key in visible]
            with self.turn():
                answers = list(ask()(pictures)) if pictures else []
        check_count(kind, part.name, len(answers), len(visible))
        return dict(zip(visible, answers, strict=True))

    def _detect(
        self,
        ref: DetectorRef,
        keys: Sequence[str],
        pictures: Mapping[str, Any],
        refusals: Mapping[str, str],
    ) -> None:
        handle = self.components.detector(ref)
        detections = {
            key: Detection(None, pictures[key], detail=refusals.get(key, ""))
            for key in keys
            if isinstance(pictures[key], Undetected)
        }
        visible = [key for key in keys if key not in detections]
        if visible:
            images = [pictures[key] for key in visible]
            answers = detections_by(
                self.components.detector(ref).get(), ref.name, images, self.turn
            )
            detections |= dict(zip(visible, answers, strict=True))
        self.store.add_detections(handle.fingerprint, detections)
        self.detected += len(detections)


def detections_of(
    components: Components, ref: DetectorRef, images: Sequence[Image]
) -> list[Detection]:
    """A detector's detections; pictures out of its domain are not passed to the detector."""
    return detections_by(components.detector(ref).get(), ref.name, images)


def _in_order(refs: set[DetectorRef]) -> list[DetectorRef]:
    return sorted(refs, key=lambda r: (r.name, r.attribute.name if r.attribute else "", str(r)))


def look_at_labelled(
    observer: Observer, labelled: LabelledSet, detectors: Iterable[DetectorRef]
) -> None:
    by_key = {labelled.checksums[image.file]: image for image in labelled}
    refs = frozenset(detectors)
    needs = {key: ImageNeeds(detectors=refs) for key in by_key}
    pictures = Pictures(needs, lambda key: open_labelled(labelled, by_key[key]))
    observer.look(pictures, "looking at labelled images")


def stored_detections(store: Store, fingerprint: str, keys: Sequence[str]) -> list[Detection]:
    """Detections of the detector with this fingerprint, one for each image."""
    detections = store.detections(list(dict.fromkeys(keys)), fingerprint)
    return [detections[key] for key in keys]


def open_labelled(labelled: LabelledSet, image: LabelledImage) -> Image | Undetected:
    """The picture of a labelled image, or why it needs no detector."""
    path = labelled.path(image)
    try:
        content = path.read_bytes()
    except OSError as error:
        # The fault may pass and says nothing of the picture: nothing is stored.
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}.") from None
    return gate(picture_in(content))
