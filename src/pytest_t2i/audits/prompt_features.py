"""Features of one prompt's images, from which WALS and the Vendi score are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from pytest_t2i.audits.instruments import Instruments
from pytest_t2i.audits.observations import Observations
from pytest_t2i.data import Interval, Prompt, digest


@dataclass(frozen=True, repr=False)
class PromptFeatures:
    """The images of one prompt as an encoder sees them."""

    prompt: Prompt
    seeds: tuple[int, ...]
    observations: Observations
    instruments: Instruments
    level: float

    @cached_property
    def features(self) -> np.ndarray:
        """Features of unit length, [n_images, d]; refused images are left out."""
        return self.features_of(self.prompt, self.seeds)

    @cached_property
    def encoder_fingerprint(self) -> str:
        """Fingerprint of the encoder behind the features."""
        return self.observations.components.encoder(self.instruments.encoder).fingerprint

    @property
    def checksums(self) -> list[str | None]:
        """Hash of each picture's content; None where the model refused."""
        return [image.sha256 for image in self.observations.images(self.prompt, self.seeds)]

    @property
    def pictures(self) -> str:
        """Digest of all pictures together."""
        return digest(self.checksums)

    def features_of(self, prompt: Prompt, seeds: Sequence[int]) -> np.ndarray:
        """Return the features of another prompt's images, [n_images, d]."""
        known = self.observations.arrays(prompt, seeds, self.encoder_fingerprint)
        there = [unit_features(vector) for vector in known if vector is not None]
        return np.stack(there) if there else np.empty((0, 0))

    def remembered(self, name: str, compute: Callable[[], Interval]) -> Interval:
        """Return the stored interval of this name; compute and store it at the first call."""
        known = self.observations.store.fact(name)
        if known is None:
            known = asdict(compute())
            self.observations.store.remember(name, known)
        return Interval(**known)


def unit_features(features: np.ndarray) -> np.ndarray:
    """Return features scaled to unit length; CLIP features are compared by cosines.

    >>> unit_features(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    plain = np.asarray(features, dtype=np.float64)
    return plain / (np.linalg.norm(plain) or 1.0)
