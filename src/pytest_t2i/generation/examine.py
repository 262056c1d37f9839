"""The pictures of a plan: new ones are checked and stored, and detectors look at all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_t2i.adapters.black_or_unreadable import gate
from pytest_t2i.data import FORESEEN, Generated, Request, Undetected
from pytest_t2i.errors import StoreError, T2IError
from pytest_t2i.generation import traces
from pytest_t2i.generation.bill import Bill
from pytest_t2i.generation.check_pictures import SizeCheck, picture_for_detectors
from pytest_t2i.generation.detect import Observer, Pictures
from pytest_t2i.generation.detect_elsewhere import told
from pytest_t2i.generation.plan import Plan
from pytest_t2i.generation.run_counts import ImagePace, Work
from pytest_t2i.generation.store.entries import NewImage
from pytest_t2i.generation.store.rows import picture_place

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass
class Examine:
    """Checks and stores new pictures, and has detectors look at new and stored ones."""

    observer: Observer
    bill: Bill | None
    work: Work
    sizes: SizeCheck = field(init=False)
    pace: ImagePace = field(default_factory=ImagePace)
    _undetected: T2IError | None = None
    """The error of a detector while pictures are paid for; those under way are still kept."""

    def __post_init__(self) -> None:
        self.sizes = SizeCheck(self.work)

    def is_over(self) -> bool:
        """Whether no further picture is requested."""
        return (self.sizes.error or self._undetected) is not None

    def raise_error(self) -> None:
        """Raise the error for which no further picture is requested."""
        error, self._undetected = self.sizes.error or self._undetected, None
        if error is not None:
            raise error

    def keep(self, plan: Plan, part: Sequence[tuple[Request, Generated]]) -> None:
        """Store a batch, and have detectors look at it; no file is read back."""
        components, store = self.observer.components, self.observer.store
        model = components.model()
        fitting = {
            plan.keys[r.plain]: (r.plain, generated)
            for r, generated in part
            if self.sizes.is_aspect(r, generated, model.name)
        }
        pictures = {
            key: picture_for_detectors(r, generated, model.name)
            for key, (r, generated) in fitting.items()
        }
        store.add_images(
            [
                NewImage(
                    key, model.fingerprint, r, generated, pictures[key] is Undetected.BLACK_IMAGE,
                    traces.kept(generated, plan.needs[r]),
                )
                for key, (r, generated) in fitting.items()
            ]
        )  # fmt: skip
        self.work.made += len(fitting)
        if self.bill is not None:
            self.bill.made(len(fitting))
        self.observer.progress.advance(len(fitting))
        needs = {key: plan.needs[r] for key, (r, _) in fitting.items()}
        examined = Pictures.of(store.images(list(fitting)), needs, pictures.__getitem__)
        reasons = Counter(examined.unseen.values())
        self.work.refused += reasons[Undetected.REFUSED]
        self.work.unreadable += reasons[Undetected.UNREADABLE]
        if components.settings.detect_where == "worker":
            images = {key: generated for key, (_, generated) in fitting.items()}
            for fingerprint, detections in told(components.detector, needs, images).items():
                store.add_detections(fingerprint, detections)
                self.observer.detected += len(detections)
        if self._undetected is None:
            try:
                self.observer.look_at(examined)
            except T2IError as error:
                if not components.counts_requests:
                    raise
                self._undetected = error
        self.work.seconds_per_image = self.pace.batch(len(fitting))

    def look(self, plan: Plan) -> dict[str, str]:
        """Have detectors look at stored pictures; return why some cannot be read.

        Nothing is stored of those, which are made again.
        """
        keys, needs = plan.keys, plan.needs
        store = self.observer.store
        stored = store.images(list(keys.values()))
        for request, key in keys.items():
            if key in stored:
                self.sizes.compare(key, request, stored[key].size)
        unread: dict[str, str] = {}

        def opened(key: str) -> Image | Undetected | None:
            try:
                picture = store.open_image(stored[key])
            except StoreError as error:
                unread[key] = str(error)
                return None
            if picture is None:
                refusals[key] = f"{Undetected.UNREADABLE}: {picture_place(key)}"
            return gate(picture)

        stored_needs = {keys[r]: need for r, need in needs.items() if keys[r] in stored}
        pictures = Pictures.of(stored, stored_needs, opened)
        refusals = dict(pictures.refusals)
        self.observer.look(pictures._replace(refusals=refusals))
        previews = {keys[r]: need for r, need in needs.items() if FORESEEN in need.observe}
        for key, strip in store.arrays(list(previews), FORESEEN).items():
            if key in stored and (array := store.open_array(strip)).size:
                sha256, detectors = stored[key].sha256, previews[key].detectors
                self.observer.look_at(traces.denoising_previews(array, sha256, detectors))
        return unread
