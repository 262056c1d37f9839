"""The search for origins: images, faces, clusters, optimised prompts and their images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pytest_t2i import Need, Prompt, Stereotype, Workbench

from pytest_t2i_origins.origins.measure import Cluster, Origins, nearness
from pytest_t2i_origins.origins.origins_of_images import (
    OriginParts,
    SeenImages,
    origins_of_images,
    seen_images,
)

AXIS = "optimised"
"""Axis of the optimised prompts."""
SHOWN = 6
"""Number of images of each best prompt on the page."""


@dataclass(slots=True)
class OriginsSearch:
    """The search for origins with one model."""

    bench: Workbench
    parts: OriginParts
    """Its encoder is the one of ``bench``."""

    def __call__(
        self, prompt: Prompt, images: int, stereotypes: Sequence[Stereotype], made: int
    ) -> Origins:
        """Return the clusters of a prompt's images, each with optimised prompts and their nearness.

        Raises T2IError if no face is found, or fewer faces than clusters.
        """
        sample_images = self._made(prompt, images)
        origins = origins_of_images(
            prompt, sample_images, stereotypes, self.parts, self.bench.observations()
        )
        near, pictures = [], []
        for cluster in origins.clusters:
            positions = [origins.places[place] for place in cluster.members]
            best = Prompt(cluster.prompts[0].text, AXIS, cluster.prompts[0].text)
            of_best = self._made(best, made)
            near.append(
                self._with_nearness(cluster, sample_images.features, positions, of_best.features)
            )
            pictures.append(tuple(of_best.pictures[:SHOWN]))
        return replace(origins, clusters=tuple(near), made=tuple(pictures))

    def _with_nearness(
        self, cluster: Cluster, plain: np.ndarray, positions: Sequence[int], optimised: np.ndarray
    ) -> Cluster:
        """Return the cluster with the nearness of the plain and of the best prompt's images.

        ``plain`` and ``optimised`` hold the features of all images of these prompts,
        ``positions`` the indices of the cluster's images among the plain ones.
        """
        mine = plain[list(positions)]
        level = self.parts.level
        return replace(
            cluster,
            plain=nearness(plain, mine, level, positions),
            optimised=nearness(optimised, mine, level),
        )

    def _made(self, prompt: Prompt, images: int) -> SeenImages:
        """Return images of a prompt with their features, making those that the store lacks."""
        seeds = self.bench.seeds(prompt, images)
        self.bench.make([Need(prompt, seeds, encoders=frozenset({self.bench.encoder}))])
        return seen_images(self.bench.observations(), prompt, seeds, self.bench.encoder)
