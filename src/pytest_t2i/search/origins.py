"""The search for origins: images, their faces, clusters, prompts, images of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_t2i.adapters.finders.aligned import aligned_faces
from pytest_t2i.adapters.support.clustering import spectral_clusters
from pytest_t2i.audits.observations import Observations
from pytest_t2i.audits.origins import (
    Cluster,
    Search,
    clusters_of,
    mean_picture,
    nearness,
    optimised_prompts,
    unit_rows,
)
from pytest_t2i.data import Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import Need, Plan
from pytest_t2i.generation.seeds import seeds_for
from pytest_t2i.prompts import Stereotype
from pytest_t2i.protocols import FaceDetector, NextTokens, TextEncoder

if TYPE_CHECKING:
    from PIL.Image import Image

AXIS = "optimised"
"""Axis of the prompts that were found."""


@dataclass(frozen=True, slots=True)
class Origins:
    """What was found for one concept."""

    prompt: Prompt
    images: int
    faceless: int
    """Images without a face: in no cluster."""
    clusters: tuple[Cluster, ...]
    """Those furthest from the real world first."""
    means: tuple[Image, ...]
    """Mean aligned face of each cluster."""


@dataclass(slots=True)
class OriginsSearch:
    """Looks for origins with one model."""

    runner: Runner
    plan: Plan
    """Empty; has the settings of the model."""
    encoder: str
    faces: FaceDetector
    language: NextTokens
    search: Search
    seed: int
    level: float

    def __call__(
        self,
        prompt: Prompt,
        images: int,
        count: int | None,
        stereotypes: Sequence[Stereotype],
        made: int,
    ) -> Origins:
        """Clusters of a prompt's images; of each, prompts and how near ``made`` images come.

        Raises ConfigurationError for an encoder without texts, and for fewer faces than clusters.
        """
        encoder: Any = self.runner.components.encoder(self.encoder).get()
        if not isinstance(encoder, TextEncoder):
            raise ConfigurationError(f"encoder {self.encoder!r} has no features of texts")
        features, pictures = self._made(prompt, images)
        cut = aligned_faces(self.faces, pictures)
        faces = [(place, face) for place, face in enumerate(cut) if face is not None]
        if not faces:
            raise ConfigurationError(f"no face was found in {len(cut)} images of {prompt.text!r}")
        whole = features[[place for place, _ in faces]]
        of_faces = unit_rows(encoder.encode([face for _, face in faces]))  # type: ignore[attr-defined]
        labels = spectral_clusters(of_faces, count, self.seed)
        clusters = clusters_of(labels, whole, encoder, stereotypes, self.level)
        clusters = [self._explained(one, whole, encoder, made) for one in clusters]
        means = [mean_picture([faces[k][1] for k in one.members]) for one in clusters]
        faceless = len(cut) - len(faces)
        return Origins(prompt, len(cut), faceless, tuple(clusters), tuple(means))

    def _explained(
        self, cluster: Cluster, features: np.ndarray, encoder: TextEncoder, made: int
    ) -> Cluster:
        """The cluster with prompts that lead to it."""
        mine = features[list(cluster.members)]
        prompts = optimised_prompts(self.language, encoder, mine, self.search)
        best = Prompt(prompts[0].text, AXIS, prompts[0].text)
        optimised = self._made(best, made)[0] if made else features[:0]
        return replace(
            cluster,
            prompts=prompts,
            plain=nearness(features, mine, self.level, self.seed),
            optimised=nearness(optimised, mine, self.level, self.seed),
        )

    def _made(self, prompt: Prompt, images: int) -> tuple[np.ndarray, list[Image]]:
        """Unit features and pictures of a prompt; what is in the store is not made again."""
        components, store = self.runner.components, self.runner.store
        seeds = seeds_for(components.model(), self.seed, prompt.text, images)
        plan = Plan(self.plan.settings)
        plan.add(Need(prompt, seeds, encoders=frozenset({self.encoder})))
        self.runner.run(plan)
        seen = Observations(components, store, plan.settings)
        arrays = seen.arrays(prompt, seeds, components.encoder(self.encoder).fingerprint)
        both = [
            (array, picture)
            for array, picture in zip(arrays, seen.pictures(prompt, seeds), strict=True)
            if array is not None and picture is not None
        ]
        features = unit_rows(np.stack([array for array, _ in both])) if both else np.empty((0, 0))
        return features, [picture for _, picture in both]
