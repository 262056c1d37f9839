"""A model, its mitigation and its detector by their names, for single pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from pytest_t2i.adapters.mitigated import Mitigated
from pytest_t2i.adapters.support.black_or_unreadable import gate
from pytest_t2i.data import Detection, Generated, Prompt, Request, Undetected
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.detect import detections_of
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.library.session import session_for, settings_for
from pytest_t2i.protocols import Mitigation, TextToImage
from pytest_t2i.runs.session import Session

if TYPE_CHECKING:
    from PIL.Image import Image


def load(model: Any, *, fingerprint: str | None = None, **options: Any) -> Loaded:
    """Load a model by its name, with the mitigation and the detector that options name.

    Nothing that it makes is kept in the store, and nothing is measured: ``audit`` does that.

    Args:
        model: as ``audit`` takes it.
        fingerprint: all that changes the pictures of a function.
        options: those of a run by their names, such as ``mitigation="random-counterpart"``,
            ``detector="clip"``, ``steps=4``, ``device="cpu"``.

    Returns:
        What makes pictures and looks at them; its parts are loaded when they are asked for.

    Raises:
        ConfigurationError: an option or the model is none.
        UnknownNameError: there is no such model, mitigation, key or option.

    >>> from PIL import Image
    >>> grey = lambda prompts, seeds: [Image.new("RGB", (8, 8), "grey") for _ in prompts]
    >>> loaded = load(grey)
    >>> [made.image.size for made in loaded.generate([loaded.request("a nurse", seed=0)])]
    [(8, 8)]
    """
    settings = settings_for(model, 1, options.pop("detector", None), options)
    return Loaded(session_for(settings, model, fingerprint, None))


class Loaded:
    """A model, its mitigation and its detector, as ``load`` gives them.

    >>> from PIL import Image
    >>> from pytest_t2i import load
    >>> grey = lambda prompts, seeds: [Image.new("RGB", (8, 8), "grey") for _ in prompts]
    >>> loaded = load(grey)
    >>> loaded.mitigation is None, loaded.passes
    (True, 1.0)
    """

    def __init__(self, session: Session) -> None:
        self._session, self._components = session, session.components

    @cached_property
    def model(self) -> TextToImage:
        """The model by itself, without the mitigation."""
        return self._components.model().get()

    @cached_property
    def mitigation(self) -> Mitigation | None:
        """The mitigation, which has the encoder that it compares pictures by; None without one.

        Raises ConfigurationError where it does not fit the model.
        """
        maker = self._components.maker()
        if not isinstance(maker, Mitigated):
            return None
        if maker.named.mitigation.stage == "prompt":
            return maker.named.mitigation
        return cast("Mitigation", maker.inside)

    @property
    def passes(self) -> float:
        """What a picture costs with these settings, in passes of the plain model."""
        mitigating = self._components.mitigating()
        return 1.0 if mitigating is None else mitigating.named.passes

    @property
    def compares_by(self) -> str | None:
        """Name of the encoder by which a mitigation compares pictures; None where it does not."""
        mitigating = self._components.mitigating()
        encoder = mitigating.named.encoder if mitigating else None
        return encoder[0] if encoder else None

    def request(self, text: str, seed: int) -> Request:
        """One picture of a prompt as a run would ask for it: settings in force, mitigated.

        Raises ConfigurationError for a prompt that names a gender, which no mitigation changes, and
        for one without counterparts where they are needed.
        """
        mitigating, settings = self._components.mitigating(), self._session.generation
        if mitigating is None:
            return Request(text, seed, settings)
        variation = mitigating.variation(Prompt(text, "prompt", text))
        if variation is None:
            raise ConfigurationError(
                f"{text!r} names a gender: a mitigation lets such a prompt pass as it is. Write it "
                "with person or people, or with a profession."
            )
        return Request(text, seed, settings, variation=variation)

    def generate(self, requests: Sequence[Request]) -> Iterable[Generated]:
        """Make one batch, in order: with the mitigation where a request has its variation."""
        return self._components.maker().generate(requests)

    def detect(self, images: Sequence[Image | None]) -> list[Detection]:
        """What the detector that decides says of each picture; black and broken ones are not shown.

        Raises DetectorError for an answer that is none.
        """
        gated = [gate(image) for image in images]
        seen = [one for one in gated if not isinstance(one, Undetected)]
        ref = DetectorRef(self._session.detectors[0])
        said = iter(detections_of(self._components, ref, seen) if seen else ())
        return [
            Detection(None, one) if isinstance(one, Undetected) else next(said) for one in gated
        ]
