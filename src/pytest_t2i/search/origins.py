"""The search for origins: images, their faces, clusters, prompts, images of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_t2i.audits.observations import Observations
from pytest_t2i.audits.origins import Cluster, Origins, nearness, unit_rows
from pytest_t2i.audits.origins_of_images import OriginParts, origins_of_images
from pytest_t2i.data import Prompt
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import Need, Plan
from pytest_t2i.generation.seeds import seeds_for
from pytest_t2i.prompts import Stereotype

if TYPE_CHECKING:
    from PIL.Image import Image

AXIS = "optimised"
"""Axis of the prompts that were found."""


@dataclass(slots=True)
class OriginsSearch:
    """Looks for origins with one model."""

    runner: Runner
    plan: Plan
    """Empty; has the settings of the model."""
    encoder: str
    """Name of the encoder of ``parts``."""
    parts: OriginParts

    def __call__(
        self, prompt: Prompt, images: int, stereotypes: Sequence[Stereotype], made: int
    ) -> Origins:
        """Clusters of a prompt's images; of each, prompts and how near ``made`` images come.

        Raises ConfigurationError where no face is found, and for fewer faces than clusters.
        """
        features, pictures = self._made(prompt, images)
        origins = origins_of_images(prompt, features, pictures, stereotypes, self.parts)
        near = (self._nearness(cluster, origins.features, made) for cluster in origins.clusters)
        return replace(origins, clusters=tuple(near))

    def _nearness(self, cluster: Cluster, features: np.ndarray, made: int) -> Cluster:
        """The cluster with how near images of the plain and of its best prompt come to it."""
        mine = features[list(cluster.members)]
        best = Prompt(cluster.prompts[0].text, AXIS, cluster.prompts[0].text)
        optimised = self._made(best, made)[0]
        level, seed = self.parts.level, self.parts.seed
        return replace(
            cluster,
            plain=nearness(features, mine, level, seed),
            optimised=nearness(optimised, mine, level, seed),
        )

    def _made(self, prompt: Prompt, images: int) -> tuple[np.ndarray, list[Image]]:
        """Unit features and pictures of a prompt; what is in the store is not made again."""
        components, store = self.runner.components, self.runner.store
        seeds = seeds_for(components.model(), self.parts.seed, prompt.text, images)
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
