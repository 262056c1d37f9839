"""``--t2i-detect-where worker``: detectors run in the worker that made the image.

A worker is a process of ``processes:N`` or an actor of Ray. Its model is wrapped: the wrapper makes
a batch, runs the detectors named in each request, and returns the detections with the images.
Attributes, features and objects are computed by the process that requested the images.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pytest_t2i.adapters.registry import Factory
from pytest_t2i.data import Detection, Generated, Request, Undetected
from pytest_t2i.errors import ConfigurationError, T2IError
from pytest_t2i.generation.check_pictures import as_generated, picture_for_detectors
from pytest_t2i.generation.detector_calls import detections_by
from pytest_t2i.generation.identities import NamedComponent
from pytest_t2i.generation.plan import DetectorRef, ImageNeeds
from pytest_t2i.protocols import Detector, LoadOptions, TextToImage

OPTION = "--t2i-detect-where"


@dataclass(slots=True)
class Looking:
    """A model (TextToImage) that runs detectors on its images."""

    model: TextToImage
    factories: Mapping[str, tuple[Factory, LoadOptions]]
    device: str
    _loaded: dict[str, Detector] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """The model's own fingerprint: detectors change no image."""
        return self.model.fingerprint

    def generate(self, requests: Sequence[Request]) -> Iterator[Generated]:
        """Make one batch, in order, with detections, also of images made before an error."""
        images: list[Generated] = []
        try:
            plain = [replace(request, detectors=frozenset()) for request in requests]
            images.extend(as_generated(self.model.generate(plain)))
        except (Exception, KeyboardInterrupt):
            yield from self._looked_at(requests, images)
            raise
        yield from self._looked_at(requests, images)

    def _looked_at(
        self, requests: Sequence[Request], images: Sequence[Generated]
    ) -> Iterator[Generated]:
        try:
            detections_of_images = self._said(requests, images)
        except T2IError:
            # The images are kept: the process that requested them detects, and reports the fault.
            detections_of_images = [{} for _ in images]
        for generated, detections in zip(images, detections_of_images, strict=True):
            yield replace(generated, detections=detections) if detections else generated

    def _said(
        self, requests: Sequence[Request], images: Sequence[Generated]
    ) -> list[dict[str, Detection]]:
        detectors = [request.detectors for request in requests[: len(images)]]
        detections: list[dict[str, Detection]] = [{} for _ in images]
        for name in sorted(set().union(*detectors)):
            places = [place for place, names in enumerate(detectors) if name in names]
            pictures = {
                k: picture_for_detectors(requests[k], images[k], "of a worker") for k in places
            }
            visible = {
                k: picture for k, picture in pictures.items() if not isinstance(picture, Undetected)
            }
            detector = self._detector(name)
            answers = detections_by(detector, name, list(visible.values())) if visible else []
            for place, answer in zip(visible, answers, strict=True):
                detections[place][detector.fingerprint] = answer
        return detections

    def _detector(self, name: str) -> Detector:
        if name not in self._loaded:
            factory, options = self.factories[name]
            self._loaded[name] = factory(replace(options, device=self.device))
        return self._loaded[name]


def looking_factory(
    factory: Factory, detectors: Mapping[str, tuple[Factory, LoadOptions]]
) -> Factory:
    for name, recipe in detectors.items():
        try:
            pickle.dumps(recipe)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ConfigurationError(
                f"{OPTION} worker: detector {name!r} cannot be loaded in another process: {error}. "
                f"Name it as module:factory, or leave {OPTION} out."
            ) from None
    return partial(_looking, factory, detectors)


def _looking(
    factory: Factory, detectors: Mapping[str, tuple[Factory, LoadOptions]], options: LoadOptions
) -> Looking:
    return Looking(factory(options), detectors, options.device)


def told(
    detector: Callable[[DetectorRef], NamedComponent[Detector]],
    plan_needs: Mapping[str, ImageNeeds],
    made: Mapping[str, Generated],
) -> dict[str, dict[str, Detection]]:
    """Fingerprint of a detector -> key of an image -> detection made in a worker."""
    detections_of_workers: dict[str, dict[str, Detection]] = {}
    for name in sorted({ref.name for needs in plan_needs.values() for ref in needs.detectors}):
        handle = detector(DetectorRef(name))
        fingerprint = handle.own_fingerprint
        by_image = {key: image.detections for key, image in made.items() if image.detections}
        mine = {
            key: detections[fingerprint]
            for key, detections in by_image.items()
            if fingerprint in detections
        }
        requested = {key for key in by_image if DetectorRef(name) in plan_needs[key].detectors}
        if requested - mine.keys():
            raise ConfigurationError(
                f"{OPTION} worker: expected the same detector {name!r} in the workers and in this "
                "process: its weights, library versions, number format or kind of device differ. "
                f"Install the same everywhere, or leave {OPTION} out."
            )
        if mine:
            detections_of_workers[handle.fingerprint] = mine
    return detections_of_workers
