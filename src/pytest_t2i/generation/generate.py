"""Requests become batches, batches images and traces; what is stored is not made again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_t2i.adapters.support.decoding import is_black
from pytest_t2i.data import Generated, Request, digest
from pytest_t2i.errors import (
    ConfigurationError,
    GenerationError,
    OutOfDeviceMemoryError,
    blamed,
)
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.detect import DEFAULT_BATCH, Observer
from pytest_t2i.generation.plan import FINAL_LATENT, TEXT_EMBEDDING, Plan
from pytest_t2i.generation.progress import Progress
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.store import NewImage
from pytest_t2i.protocols import TextEmbedding

CLAIMED = 256
"""Images that one process takes on at a time; the rest is left for other devices."""
WAIT_FOR_OTHERS = 0.2
"""Seconds between looks at what another process is making."""


@dataclass(slots=True)
class Work:
    """What a run had to do."""

    planned: int = 0
    most: int = 0
    """With early stopping: images that the tests might have asked for; else 0."""
    made: int = 0
    detected: int = 0
    refused: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, such as a batch halved for want of memory."""


@dataclass
class Runner:
    """Carries out a plan."""

    components: Components
    store: Store
    progress: Progress
    batch: int | None = None
    work: Work = field(default_factory=Work)

    @cached_property
    def observer(self) -> Observer:
        """Looks at what is made."""
        return Observer(self.components, self.store, self.progress, self.batch)

    def run(self, plan: Plan) -> Work:
        """Make what is missing, then have it looked at.

        A kill at any moment loses at most the batch in flight.
        """
        started = time.monotonic()
        self.work.planned = len(plan)
        if not plan.wants:
            return self.work
        keys = self.keys(plan)
        self.observer.check(plan)
        self._embed_texts(plan)
        self._make(plan, keys)
        self.observer.look(plan, keys)
        self.work.detected = self.observer.detected
        self.work.seconds += time.monotonic() - started
        return self.work

    def keys(self, plan: Plan) -> dict[Request, str]:
        """The store's key of every request."""
        fingerprint = self.components.model().fingerprint
        return {request: request.key(fingerprint) for request in plan}

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
                mine = self.store.claim([keys[request] for request in missing], CLAIMED)
                # Another process may have made some of them just before they became ours.
                todo = [r for r in self._missing(plan, keys) if keys[r] in set(mine)]
                self._make_claimed(plan, keys, todo, mine)
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

    def _make_claimed(
        self, plan: Plan, keys: dict[Request, str], todo: Sequence[Request], claimed: list[str]
    ) -> None:
        queue = list(todo)
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
        with blamed(GenerationError, "model", self.components.model().name):
            generated = list(self.components.model().get().generate(asked))
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
        stored = self.store.images(list(wants))
        self.observer.look_at(wants, stored, lambda one: pictures[one.key])

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

    def _say(self, note: str) -> None:
        self.work.notes.append(note)
        self.progress.say(note)


def text_key(model: str, text: str) -> str:
    """The store's key of a prompt's text embedding."""
    return digest(["text", model, text])
