"""``--t2i-detect-where worker``: detectors look at an image where it was made.

A worker is a process of ``processes:N`` or an actor of Ray. Its model is wrapped: it makes a batch,
shows it to the detectors that a request asks for, and what they said travels with the image.
Attributes, features and objects are looked for by the process that asked for the images.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_t2i.adapters.registry import Factory
from pytest_t2i.data import Detection, Generated, Request, Undetected
from pytest_t2i.errors import ConfigurationError, T2IError
from pytest_t2i.generation.asking import said_by
from pytest_t2i.generation.given_pictures import picture_of
from pytest_t2i.generation.named_component import NamedComponent
from pytest_t2i.generation.plan import DetectorRef, ImageNeeds
from pytest_t2i.protocols import Detector, LoadOptions, TextToImage

OPTION = "--t2i-detect-where"
LOOK = "look:"
"""Begins what a request observes for each detector that is to look at its image."""


@dataclass(frozen=True, slots=True)
class LookingFactory:
    """Loads a model whose images are looked at where they are made; it can be pickled."""

    factory: Factory
    detectors: Mapping[str, tuple[Factory, LoadOptions]]
    """Detectors, as they were asked for."""

    def __call__(self, options: LoadOptions) -> Looking:
        """The model of these options; detectors use its device."""
        return Looking(self.factory(options), self.detectors, options.device)


@dataclass(slots=True)
class Looking:
    """A model and the detectors that look at its images (TextToImage)."""

    model: TextToImage
    factories: Mapping[str, tuple[Factory, LoadOptions]]
    device: str
    _loaded: dict[str, Detector] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """The model's own: looking changes no image."""
        return self.model.fingerprint

    def generate(self, requests: Sequence[Request]) -> Iterator[Generated]:
        """One batch, in order, looked at; what came before an error is looked at, too."""
        made: list[Generated] = []
        try:
            made.extend(self.model.generate([_unlooked(request) for request in requests]))
        except (Exception, KeyboardInterrupt):
            yield from self._looked_at(requests, made)
            raise
        yield from self._looked_at(requests, made)

    def _looked_at(
        self, requests: Sequence[Request], made: Sequence[Generated]
    ) -> Iterator[Generated]:
        try:
            said = self._said(requests, made)
        except T2IError:
            # The images are kept: who asked for them looks, and tells the fault.
            said = [{} for _ in made]
        for generated, detections in zip(made, said, strict=True):
            yield replace(generated, detections=detections) if detections else generated

    def _said(
        self, requests: Sequence[Request], made: Sequence[Generated]
    ) -> list[dict[str, Detection]]:
        """Of each image what detectors say, by their fingerprints."""
        asked = [_looks(request) for request in requests[: len(made)]]
        said: list[dict[str, Detection]] = [{} for _ in made]
        for name in sorted(set().union(*asked)):
            places = [place for place, names in enumerate(asked) if name in names]
            pictures = {k: picture_of(requests[k], made[k], "of a worker") for k in places}
            shown = {k: one for k, one in pictures.items() if not isinstance(one, Undetected)}
            detector = self._detector(name)
            answers = said_by(detector, name, list(shown.values())) if shown else []
            for place, answer in zip(shown, answers, strict=True):
                said[place][detector.fingerprint] = answer
        return said

    def _detector(self, name: str) -> Detector:
        if name not in self._loaded:
            factory, options = self.factories[name]
            self._loaded[name] = factory(replace(options, device=self.device))
        return self._loaded[name]


def looking_factory(
    factory: Factory, detectors: Mapping[str, tuple[Factory, LoadOptions]]
) -> LookingFactory:
    """The factory of a worker's model.

    Raises ConfigurationError for a detector that no other process can load.
    """
    for name, recipe in detectors.items():
        try:
            pickle.dumps(recipe)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ConfigurationError(
                f"{OPTION} worker: detector {name!r} cannot be loaded in another process: {error}. "
                f"Name it as module:factory, or leave {OPTION} out."
            ) from None
    return LookingFactory(factory, detectors)


def looked_at(request: Request, needs: ImageNeeds) -> Request:
    """The request, with detectors that are to look at its image where it is made."""
    names = {LOOK + ref.name for ref in needs.detectors if ref.attribute is None}
    return replace(request, observe=request.observe | names) if names else request


def told(
    detector: Callable[[DetectorRef], NamedComponent[Detector]],
    plan_needs: Mapping[str, ImageNeeds],
    made: Mapping[str, Generated],
) -> dict[str, dict[str, Detection]]:
    """Fingerprint of a detector -> key of an image -> what was said of it where it was made.

    Args:
        detector: a detector of the run, as this process knows it.
        plan_needs: what must be known of each image, by its key.
        made: images that have come, by the same keys.

    Raises:
        ConfigurationError: a worker's detector is not the one that this process knows.
    """
    found: dict[str, dict[str, Detection]] = {}
    for name in sorted({ref.name for needs in plan_needs.values() for ref in needs.detectors}):
        handle = detector(DetectorRef(name))
        own = handle.own_fingerprint
        said = {key: one.detections for key, one in made.items() if one.detections}
        mine = {key: detections[own] for key, detections in said.items() if own in detections}
        asked = {key for key in said if DetectorRef(name) in plan_needs[key].detectors}
        if asked - mine.keys():
            raise ConfigurationError(
                f"{OPTION} worker: detector {name!r} is another one in the workers than in this "
                "process: its weights, library versions, number format or kind of device differ. "
                f"Install the same everywhere, or leave {OPTION} out."
            )
        if mine:
            found[handle.fingerprint] = mine
    return found


def _looks(request: Request) -> set[str]:
    return {name.removeprefix(LOOK) for name in request.observe if name.startswith(LOOK)}


def _unlooked(request: Request) -> Request:
    """As the model is asked."""
    observe = frozenset(name for name in request.observe if not name.startswith(LOOK))
    return replace(request, observe=observe) if observe != request.observe else request
