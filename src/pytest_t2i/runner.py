"""Requests become batches, images, traces, features, detections; what is stored is not remade."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_t2i.components import Components
from pytest_t2i.data import Detection, Generated, Request, Undetected, digest
from pytest_t2i.errors import ConfigurationError, OutOfDeviceMemoryError, StoreError
from pytest_t2i.models.pictures import is_black
from pytest_t2i.planning import FINAL_LATENT, TEXT_EMBEDDING, DetectorRef, Plan, Wants
from pytest_t2i.progress import Progress
from pytest_t2i.protocols import TextEmbedding
from pytest_t2i.store import Store, StoredImage
from pytest_t2i.store.store import NewImage

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT_BATCH = 16
WAIT_FOR_OTHERS = 0.2
"""Seconds between looks at what another process is making."""


@dataclass(slots=True)
class Work:
    """What a run had to do."""

    planned: int = 0
    made: int = 0
    detected: int = 0
    refused: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, such as a batch halved for want of memory."""


@dataclass(slots=True)
class Runner:
    """Carries out a plan."""

    components: Components
    store: Store
    progress: Progress
    batch: int | None = None
    work: Work = field(default_factory=Work)

    def run(self, plan: Plan) -> Work:
        """Make what is missing, then have it looked at.

        A kill at any moment loses at most the batch in flight.
        """
        started = time.monotonic()
        self.work.planned = len(plan)
        if not plan.wants:
            return self.work
        keys = self.keys(plan)
        self._check_observers(plan)
        self._embed_texts(plan)
        self._make(plan, keys)
        self._look(plan, keys)
        self.work.seconds = time.monotonic() - started
        return self.work

    def keys(self, plan: Plan) -> dict[Request, str]:
        """The store's key of every request."""
        fingerprint = self.components.model().fingerprint
        return {request: request.key(fingerprint) for request in plan}

    def _check_observers(self, plan: Plan) -> None:
        """Find out now, before a GPU second is spent, that a detector cannot be had."""
        for ref in {ref for wants in plan.wants.values() for ref in wants.detectors}:
            _ = self.components.detector(ref).fingerprint
        for name in {name for wants in plan.wants.values() for name in wants.encoders}:
            _ = self.components.encoder(name).fingerprint

    # prompt space

    def _embed_texts(self, plan: Plan) -> None:
        handle = self.components.model()
        wanted = {text_key(handle.fingerprint, text): text for text in plan.embedded_texts()}
        have = self.store.arrays(list(wanted), TEXT_EMBEDDING)
        missing = {key: text for key, text in wanted.items() if key not in have}
        if not missing:
            return
        model = handle.get()
        if not isinstance(model, TextEmbedding):
            return  # the audit says that this space cannot be observed
        embedded = model.embed_text(list(missing.values()))
        self.store.add_arrays(TEXT_EMBEDDING, dict(zip(missing, embedded, strict=True)))

    # images

    def _make(self, plan: Plan, keys: dict[Request, str]) -> None:
        missing = self._missing(plan, keys)
        if not missing:
            return
        self.progress.start(f"making images with {self.components.model().name}", len(missing))
        try:
            while missing:
                mine = set(self.store.claim([keys[request] for request in missing]))
                todo = [request for request in missing if keys[request] in mine]
                self._make_claimed(plan, keys, todo)
                # What another process claimed is waited for, and made here should it give up.
                missing = self._missing(plan, keys)
                if missing and not todo:
                    time.sleep(WAIT_FOR_OTHERS)
        finally:
            self.progress.stop()

    def _missing(self, plan: Plan, keys: dict[Request, str]) -> list[Request]:
        images = self.store.images(list(keys.values()))
        wanting = [r for r, wants in plan.wants.items() if FINAL_LATENT in wants.observe]
        latents = self.store.arrays([keys[r] for r in wanting], FINAL_LATENT)
        unseen = {r for r in wanting if keys[r] not in latents}
        return [
            r
            for r, key in keys.items()
            if key not in images or (r in unseen and images[key].file is not None)
        ]

    def _make_claimed(self, plan: Plan, keys: dict[Request, str], todo: Sequence[Request]) -> None:
        queue = list(todo)
        claimed = [keys[request] for request in todo]
        size = self.batch or self.components.model_batch() or DEFAULT_BATCH
        try:
            while queue:
                part = queue[:size]
                try:
                    generated = self._generate(plan, part)
                except OutOfDeviceMemoryError:
                    if size == 1:
                        raise
                    size //= 2
                    self._say(f"out of device memory: going on with {size} images per batch")
                    continue
                self._keep(plan, keys, part, generated)
                queue = queue[len(part) :]
        finally:
            self.store.release(claimed)

    def _generate(self, plan: Plan, part: Sequence[Request]) -> Sequence[Generated]:
        asked = [
            Request(r.prompt, r.seed, r.settings, frozenset(plan.wants[r].observe)) for r in part
        ]
        generated = self.components.model().get().generate(asked)
        if len(generated) != len(part):
            raise ConfigurationError(
                f"model {self.components.model().name!r}: expected {len(part)} images for "
                f"{len(part)} requests, got {len(generated)}"
            )
        return generated

    def _keep(
        self,
        plan: Plan,
        keys: dict[Request, str],
        part: Sequence[Request],
        generated: Sequence[Generated],
    ) -> None:
        model = self.components.model().fingerprint
        new = [
            NewImage(keys[r], model, r, g, g.image is not None and is_black(g.image))
            for r, g in zip(part, generated, strict=True)
        ]
        self.store.add_images(new)
        self._mark_unseen(plan, keys, part, generated)
        self.work.made += len(new)
        self.work.refused += sum(g.image is None for g in generated)
        self.progress.advance(len(new))
        pictures = {keys[r]: g.image for r, g in zip(part, generated, strict=True)}
        wants = {keys[r]: plan.wants[r] for r in part}
        # Looked at while they are in memory; nothing is read back.
        self._look_at(wants, self.store.images(list(wants)), lambda s: pictures[s.key])

    def _mark_unseen(
        self,
        plan: Plan,
        keys: dict[Request, str],
        part: Sequence[Request],
        generated: Sequence[Generated],
    ) -> None:
        """An empty trace says that the model does not show it, so that it is not asked again."""
        import numpy as np

        unseen = {
            keys[r]: np.zeros(0, dtype=np.float32)
            for r, g in zip(part, generated, strict=True)
            if FINAL_LATENT in plan.wants[r].observe and g.trace.final_latent is None
        }
        if unseen:
            self.store.add_arrays(FINAL_LATENT, unseen)

    # detections and features

    def _look(self, plan: Plan, keys: dict[Request, str]) -> None:
        wants = {keys[request]: wanted for request, wanted in plan.wants.items()}
        stored = self.store.images(list(wants))
        open_tasks = sum(1 for _ in self._tasks(wants, stored))
        if not open_tasks:
            return
        self.progress.start("looking at images", len(wants))
        try:
            self._look_at(wants, stored, self._open, advance=True)
        finally:
            self.progress.stop()

    def _open(self, stored: StoredImage) -> Image | None:
        try:
            return self.store.open_image(stored)
        except (StoreError, OSError):
            return None

    def _look_at(
        self,
        wants: dict[str, Wants],
        stored: dict[str, StoredImage],
        picture: Callable[[StoredImage], Image | None],
        *,
        advance: bool = False,
    ) -> None:
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
        features = handle.get().encode([pictures[key] for key in keys])
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
            detections = handle.get().detect([pictures[key] for key in visible])
            found |= dict(zip(visible, detections, strict=True))
        self.store.add_detections(handle.fingerprint, found)
        self.work.detected += len(found)

    def _say(self, note: str) -> None:
        self.work.notes.append(note)
        self.progress.say(note)


def text_key(model: str, text: str) -> str:
    """The store's key of a prompt's text embedding."""
    return digest(["text", model, text])


def _in_order(refs: set[DetectorRef]) -> list[DetectorRef]:
    return sorted(refs, key=lambda r: (r.name, r.attribute.name if r.attribute else "", str(r)))
