"""From a prompt's images to prompts that lead to each kind of face among them (OASIS 3.3).

Makes no image: what ``t2i stop`` and a test's ``sample.origins`` have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_t2i.adapters.catalogue import FACES
from pytest_t2i.adapters.finders.aligned import aligned_faces
from pytest_t2i.adapters.languages.by_name import continuing
from pytest_t2i.adapters.registry import named_part
from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.audits.origins import (
    Origins,
    Search,
    clusters_of,
    mean_picture,
    optimised_prompts,
    unit_rows,
)
from pytest_t2i.data import Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.components import Components
from pytest_t2i.prompts import Stereotype
from pytest_t2i.protocols import FaceDetector, LoadOptions, NextTokens, TextEncoder

if TYPE_CHECKING:
    from PIL.Image import Image

USUAL_FACES = "dlib-hog"
"""Face part where the catalogue names none for the detector."""


@dataclass(frozen=True, slots=True)
class OriginParts:
    """What images are looked at with."""

    encoder: Any
    """Of images and texts."""
    faces: FaceDetector
    language: NextTokens
    search: Search
    clusters: int | None
    """How many; None: by the eigengap."""
    seed: int
    level: float
    explained: int | None = None
    """Clusters that prompts are looked for; None: all."""


def origins_of_images(
    prompt: Prompt,
    features: np.ndarray,
    pictures: Sequence[Image],
    stereotypes: Sequence[Stereotype],
    parts: OriginParts,
) -> Origins:
    """Clusters of a prompt's images by their faces, each with the prompts nearest to it.

    ``features`` are unit rows of the whole pictures, [n_images, d]. Raises ConfigurationError where
    no face is found, and for fewer faces than clusters.
    """
    # scikit-learn is an extra.
    from pytest_t2i.adapters.support.clustering import spectral_clusters

    cut = aligned_faces(parts.faces, pictures)
    faces = [(place, face) for place, face in enumerate(cut) if face is not None]
    if not faces:
        raise ConfigurationError(f"no face was found in {len(cut)} images of {prompt.text!r}")
    whole = features[[place for place, _ in faces]]
    of_faces = unit_rows(parts.encoder.encode([face for _, face in faces]))
    labels = spectral_clusters(of_faces, parts.clusters, parts.seed)
    clusters = clusters_of(labels, whole, parts.encoder, stereotypes, parts.level)
    for place, cluster in enumerate(clusters[: parts.explained]):
        mine = whole[list(cluster.members)]
        prompts = optimised_prompts(parts.language, parts.encoder, mine, parts.search)
        clusters[place] = replace(cluster, prompts=prompts)
    pictured = tuple(mean_picture([faces[k][1] for k in cluster.members]) for cluster in clusters)
    return Origins(prompt, len(cut), len(cut) - len(faces), tuple(clusters), pictured, whole)


def origins_of_sample(
    sample: DetectedPrompt,
    llm: str,
    stereotypes: Sequence[Stereotype],
    faces: str | None,
    clusters: int | None,
    explained: int | None,
    search: Search,
) -> Origins:
    """Of the images of a test's prompt, which are there already.

    Raises as ``origins_of_images`` does; UnknownNameError for an unknown part or language model.
    """
    components, known = sample.observations.components, sample.observations.derived
    name = ("origins", sample.prompt.text, sample.seeds, llm, faces, clusters, explained, search)
    if name not in known:
        if sample.instruments is None:
            raise ConfigurationError(f"{sample.prompt.id}: the images of one prompt are asked for")
        parts = OriginParts(
            text_encoder(components, sample.instruments.encoder),
            face_part(components, faces, sample.ref.name),
            continuing(
                llm,
                components.registries.languages,
                components.catalogue,
                components.settings.device,
            ),
            search,
            clusters,
            sample.instruments.seed,
            sample.level,
            explained,
        )
        seen = sample.observations.pictures(sample.prompt, sample.seeds)
        pictures = [picture for picture in seen if picture is not None]
        features = unit_rows(parts.encoder.encode(pictures)) if pictures else np.empty((0, 0))
        known[name] = origins_of_images(sample.prompt, features, pictures, stereotypes, parts)
    origins: Origins = known[name]
    return origins


def text_encoder(components: Components, name: str) -> Any:
    """The encoder of this name; ConfigurationError for one without features of texts."""
    encoder = components.encoder(name).get()
    if not isinstance(encoder, TextEncoder):
        raise ConfigurationError(f"encoder {name!r} has no features of texts")
    return encoder


def face_part(components: Components, name: str | None, detector: str) -> FaceDetector:
    """The face part of this name; without one that of the detector's alias.

    Raises UnknownNameError.
    """
    alias = detector.partition(":")[2]
    name = name or components.catalogue.weights.get(FACES, {}).get(alias, USUAL_FACES)
    factory, source = named_part(components.registries.faces, name)
    made: FaceDetector = factory(LoadOptions(source=source, device=components.settings.device))
    return made
