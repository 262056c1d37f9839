"""The search for origins: images, faces, clusters, optimised prompts and their images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_t2i.audits.observations import Observations
from pytest_t2i.audits.origins.measure import Cluster, Origins, nearness
from pytest_t2i.audits.origins.origins_of_images import (
    OriginParts,
    SeenImages,
    origins_of_images,
    seen_images,
)
from pytest_t2i.data import Prompt
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import Need, Plan
from pytest_t2i.generation.seeds import seeds_for
from pytest_t2i.prompts import Stereotype

AXIS = "optimised"
"""Axis of the optimised prompts."""
SHOWN = 6
"""Number of images of each best prompt on the page."""


@dataclass(slots=True)
class OriginsSearch:
    """The search for origins with one model."""

    runner: Runner
    plan: Plan
    """Empty plan with the settings of the model."""
    encoder: str
    """Name of the encoder of ``parts``."""
    parts: OriginParts

    def __call__(
        self, prompt: Prompt, images: int, stereotypes: Sequence[Stereotype], made: int
    ) -> Origins:
        """Return the clusters of a prompt's images, each with optimised prompts and their nearness.

        Raises ConfigurationError if no face is found, or fewer faces than clusters.
        """
        sample_images = self._made(prompt, images)
        origins = origins_of_images(
            prompt, sample_images, stereotypes, self.parts, self.runner.store
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
        level, seed = self.parts.level, self.parts.seed
        return replace(
            cluster,
            plain=nearness(plain, mine, level, seed, positions),
            optimised=nearness(optimised, mine, level, seed),
        )

    def _made(self, prompt: Prompt, images: int) -> SeenImages:
        """Return images of a prompt with their features, making those that the store lacks."""
        components, store = self.runner.components, self.runner.store
        seeds = seeds_for(components.model(), self.parts.seed, prompt.text, images)
        plan = Plan(self.plan.settings)
        plan.add(Need(prompt, seeds, encoders=frozenset({self.encoder})))
        self.runner.run(plan)
        return seen_images(
            Observations(components, store, plan.settings), prompt, seeds, self.encoder
        )
