"""Stored images become detections and features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_t2i.data import Detection, Request, Undetected
from pytest_t2i.errors import DetectorError, StoreError, blamed
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef, Plan, Wants
from pytest_t2i.generation.progress import Progress
from pytest_t2i.generation.store import Store, StoredImage

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT_BATCH = 16


@dataclass(slots=True)
class Observer:
    """Has images looked at by the detectors and encoders that the plan asks for."""

    components: Components
    store: Store
    progress: Progress
    batch: int | None = None
    detected: int = 0
    """Detections made so far."""

    def check(self, plan: Plan) -> None:
        """Find out now, before a GPU second is spent, that a detector cannot be had."""
        for ref in {ref for wants in plan.wants.values() for ref in wants.detectors}:
            _ = self.components.detector(ref).fingerprint
        for name in {name for wants in plan.wants.values() for name in wants.encoders}:
            _ = self.components.encoder(name).fingerprint

    def look(self, plan: Plan, keys: dict[Request, str]) -> None:
        """Have every stored image of the plan looked at by those who have not seen it."""
        wants = {keys[request]: wanted for request, wanted in plan.wants.items()}
        stored = self.store.images(list(wants))
        open_tasks = sum(1 for _ in self._tasks(wants, stored))
        if not open_tasks:
            return
        self.progress.start("looking at images", len(wants))
        try:
            self.look_at(wants, stored, self._open, advance=True)
        finally:
            self.progress.stop()

    def _open(self, stored: StoredImage) -> Image | None:
        try:
            return self.store.open_image(stored)
        except (StoreError, OSError):
            return None

    def look_at(
        self,
        wants: dict[str, Wants],
        stored: dict[str, StoredImage],
        picture: Callable[[StoredImage], Image | None],
        *,
        advance: bool = False,
    ) -> None:
        """Detections and features that are wanted and not there; ``picture`` opens an image."""
        size = self.batch or DEFAULT_BATCH
        names = list(wants)
        step = max(size, DEFAULT_BATCH)
        for start in range(0, len(names), step):
            part = {key: wants[key] for key in names[start : start + step] if key in stored}
            pictures: dict[str, Image | None] = {}
            for task, missing in self._tasks(part, stored):
                for key in missing:
                    if key not in pictures:
                        pictures[key] = picture(stored[key])
                self._do(task, missing, pictures)
            if advance:
                self.progress.advance(len(names[start : start + step]))

    def _tasks(
        self, wants: dict[str, Wants], stored: dict[str, StoredImage]
    ) -> Iterator[tuple[DetectorRef | str, list[str]]]:
        """Each detector or encoder with the images it has not seen."""
        for ref in _in_order({ref for one in wants.values() for ref in one.detectors}):
            keys = [key for key, one in wants.items() if ref in one.detectors and key in stored]
            seen = self.store.detections(keys, self.components.detector(ref).fingerprint)
            if missing := [key for key in keys if key not in seen]:
                yield ref, missing
        for name in sorted({name for one in wants.values() for name in one.encoders}):
            keys = [
                key
                for key, one in wants.items()
                if name in one.encoders and key in stored and stored[key].undetected is None
            ]
            have = self.store.arrays(keys, self.components.encoder(name).fingerprint)
            if missing := [key for key in keys if key not in have]:
                yield name, missing

    def _do(
        self, task: DetectorRef | str, keys: list[str], pictures: dict[str, Image | None]
    ) -> None:
        if isinstance(task, str):
            self._encode(task, [key for key in keys if pictures[key] is not None], pictures)
        else:
            self._detect(task, keys, pictures)

    def _encode(self, name: str, keys: list[str], pictures: dict[str, Any]) -> None:
        if not keys:
            return
        handle = self.components.encoder(name)
        with blamed(DetectorError, "encoder", name):
            features = list(handle.get().encode([pictures[key] for key in keys]))
        self._count("encoder", name, len(features), len(keys))
        self.store.add_arrays(handle.fingerprint, dict(zip(keys, features, strict=True)))

    def _detect(self, ref: DetectorRef, keys: list[str], pictures: dict[str, Any]) -> None:
        handle = self.components.detector(ref)
        stored = self.store.images(keys)
        found: dict[str, Detection] = {}
        for key in keys:
            reason = stored[key].undetected if key in stored else Undetected.UNREADABLE
            if reason is None and pictures[key] is None:
                reason = Undetected.UNREADABLE
            if reason is not None:
                found[key] = Detection(None, reason)
        visible = [key for key in keys if key not in found]
        if visible:
            with blamed(DetectorError, "detector", ref.name):
                detections = list(handle.get().detect([pictures[key] for key in visible]))
            self._count("detector", ref.name, len(detections), len(visible))
            found |= dict(zip(visible, detections, strict=True))
        self.store.add_detections(handle.fingerprint, found)
        self.detected += len(found)

    def _count(self, kind: str, name: str, got: int, asked: int) -> None:
        if got != asked:
            raise DetectorError(
                f"{kind} {name!r}: expected {asked} answers for as many images, got {got}"
            )


def _in_order(refs: set[DetectorRef]) -> list[DetectorRef]:
    return sorted(refs, key=lambda r: (r.name, r.attribute.name if r.attribute else "", str(r)))
