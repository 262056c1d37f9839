"""From a prompt's images to prompts that lead to each cluster of their faces (OASIS 3.3).

``t2i stop`` and a test's ``sample.origins`` share this module, which makes no image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pytest_t2i.adapters.catalogue import FACES
from pytest_t2i.adapters.finders.aligned import aligned_faces
from pytest_t2i.adapters.languages.load_by_name import continuing
from pytest_t2i.adapters.registry import named_part
from pytest_t2i.adapters.support.code import code_of_factory
from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.audits.observations import Observations
from pytest_t2i.audits.origins.measure import (
    Origins,
    clusters_of,
    mean_picture,
    presence_of,
    shown_attributes,
)
from pytest_t2i.audits.origins.optimised_prompts import (
    OptimisedPrompt,
    Search,
    check_count,
    optimised_prompts,
    unit_rows,
)
from pytest_t2i.data import Prompt, digest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.identities import NamedComponent
from pytest_t2i.generation.store import Store
from pytest_t2i.prompts import Stereotype
from pytest_t2i.protocols import Encoder, FaceDetector, LoadOptions, NextTokens, TextEncoder

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")
METHOD = 2
"""Version of the search for prompts; stored results of another version are not used."""
USUAL_FACES = "dlib-hog"
"""Face detector where the catalogue names none for the detector."""


@dataclass(frozen=True, slots=True)
class OriginParts:
    """The encoder, face detector, language model and settings behind origins."""

    encoder: Any
    """Encoder of images and texts."""
    faces: FaceDetector
    language: NextTokens
    search: Search
    clusters: int | None
    """Number of clusters; None chooses it by the eigengap."""
    seed: int
    level: float
    explained: int | None = None
    """Number of clusters for which prompts are searched; None for all."""
    language_name: str = ""
    """Name that identifies a language model without a fingerprint."""


@dataclass(frozen=True, slots=True)
class SeenImages:
    """The images of a prompt, without refused, black and unreadable ones, by their seeds."""

    features: np.ndarray
    """Unit rows of the whole pictures, [n_images, d]."""
    pictures: Sequence[Image]
    checksums: Sequence[str | None]
    """Hash of each picture's content."""
    encoder: str
    """Fingerprint of the encoder behind the features."""


def seen_images(
    observations: Observations, prompt: Prompt, seeds: Sequence[int], encoder: str
) -> SeenImages:
    """Return a prompt's images with features, without refused, black or unreadable ones.

    Features come from the store where they were observed; else they are encoded now.
    """
    handle = observations.components.encoder(encoder)
    arrays = observations.arrays(prompt, seeds, handle.fingerprint)
    images = observations.images(prompt, seeds)
    pictures = observations.pictures(prompt, seeds)
    there = [place for place, image in enumerate(images) if image.undetected is None]
    clear_pictures = [picture for place in there if (picture := pictures[place]) is not None]
    features = _features([arrays[place] for place in there], clear_pictures, handle)
    return SeenImages(
        features, clear_pictures, [images[k].sha256 for k in there], handle.fingerprint
    )


def _features(
    stored_rows: Sequence[np.ndarray | None],
    pictures: Sequence[Image],
    encoder: NamedComponent[Encoder],
) -> np.ndarray:
    """Return unit rows of features; pictures without ``stored_rows`` are encoded."""
    unknown = [picture for picture, row in zip(pictures, stored_rows, strict=True) if row is None]
    encoded = iter(encoder.get().encode(unknown)) if unknown else iter(())
    rows = [next(encoded) if row is None else row for row in stored_rows]
    return unit_rows(np.stack(rows)) if rows else np.empty((0, 0))


def origins_of_images(
    prompt: Prompt,
    images: SeenImages,
    stereotypes: Sequence[Stereotype],
    parts: OriginParts,
    store: Store,
) -> Origins:
    """Return clusters of a prompt's images by their faces, each with the prompts nearest to it.

    ``store`` remembers these prompts. Raises ConfigurationError where no face is found, and for
    fewer faces than clusters.
    """
    # scikit-learn is an extra.
    from pytest_t2i.adapters.support.clustering import spectral_clusters

    cut = aligned_faces(parts.faces, images.pictures)
    faces = [(place, face) for place, face in enumerate(cut) if face is not None]
    if not faces:
        raise ConfigurationError(f"no face was found in {len(cut)} images of {prompt.text!r}")
    places = tuple(place for place, _ in faces)
    features = images.features[list(places)]
    of_faces = unit_rows(parts.encoder.encode([face for _, face in faces]))
    labels = spectral_clusters(of_faces, parts.clusters, parts.seed)
    shows = presence_of(features, parts.encoder, stereotypes)
    clusters = clusters_of(labels, shows, stereotypes, parts.level)
    for place, cluster in enumerate(clusters[: parts.explained]):
        positions = [places[member] for member in cluster.members]
        clusters[place] = replace(cluster, prompts=_prompts(images, positions, parts, store))
    pictured = tuple(mean_picture([faces[k][1] for k in cluster.members]) for cluster in clusters)
    attributes = shown_attributes(shows, stereotypes, parts.level)
    faceless = len(cut) - len(faces)
    return Origins(
        prompt,
        len(cut),
        faceless,
        tuple(clusters),
        pictured,
        features,
        places,
        attributes,
        level=parts.level,
    )


def _prompts(
    images: SeenImages, positions: Sequence[int], parts: OriginParts, store: Store
) -> tuple[OptimisedPrompt, ...]:
    """Return the prompts nearest to the images at ``positions``, from the store where known."""
    name = _name_of_search(images, positions, parts)
    pairs = store.fact(name) if name else None
    if pairs is None:
        features = images.features[list(positions)]
        prompts = optimised_prompts(parts.language, parts.encoder, features, parts.search)
        pairs = [[prompt.text, prompt.similarity] for prompt in prompts]
        if name:
            store.remember(name, pairs)
    return tuple(OptimisedPrompt(text, similarity) for text, similarity in pairs)


def _name_of_search(images: SeenImages, positions: Sequence[int], parts: OriginParts) -> str | None:
    """Return the store's name for the prompts, a hash of all that they depend on.

    None for a language model without fingerprint and name, which cannot be told from another one.
    """
    language = getattr(parts.language, "fingerprint", None) or parts.language_name
    if not language:
        return None
    code = code_of_factory(type(parts.language))
    pictures = [images.checksums[place] for place in positions]
    how = [asdict(parts.search), parts.seed]
    return f"origins:{digest([METHOD, images.encoder, str(language), code, how, pictures])}"


def origins_of_sample(
    sample: DetectedPrompt,
    llm: str,
    stereotypes: Sequence[Stereotype],
    faces: str | None,
    clusters: int | None,
    explained: int | None,
    search: Search,
) -> Origins:
    """Return the origins of the images of a test's prompt, which exist already.

    Raises ConfigurationError as ``origins_of_images`` does and for wrong arguments,
    UnknownNameError for an unknown part or language model.
    """
    _check(llm, stereotypes, clusters=clusters, explained=explained)
    observations, instruments = sample.observations, sample.instruments
    if instruments is None:
        raise ConfigurationError(f"{sample.prompt.id}: origins need a sample of a test run")
    face = _face_name(observations.components, faces, sample.ref.name)
    how = (llm, tuple(stereotypes), face, clusters, explained, search)
    by = (instruments.encoder, instruments.seed, sample.level)

    def look() -> Origins:
        parts = OriginParts(
            text_encoder(observations.components, instruments.encoder),
            _once(
                observations,
                ("face part", face),
                partial(face_part, observations.components, face, ""),
            ),
            _once(
                observations, ("language", llm), partial(_language, observations.components, llm)
            ),
            search,
            clusters,
            instruments.seed,
            sample.level,
            explained,
            llm,
        )
        images = seen_images(observations, sample.prompt, sample.seeds, instruments.encoder)
        return origins_of_images(sample.prompt, images, stereotypes, parts, observations.store)

    return _once(observations, ("origins", sample.prompt, sample.seeds, *how, *by), look)


def _check(llm: object, stereotypes: Sequence[object], **counts: object) -> None:
    """Raise ConfigurationError for wrong arguments."""
    if not isinstance(llm, str) or not llm.strip():
        raise ConfigurationError(f"llm names a language model, such as 'reference-lm', got {llm!r}")
    for stereotype in stereotypes:
        if not isinstance(stereotype, Stereotype):
            raise ConfigurationError(f"stereotypes: expected Stereotypes, got {stereotype!r}")
    for name, count in counts.items():
        if count is not None:
            check_count(name, count)


def _once(observations: Observations, name: tuple[Any, ...], make: Callable[[], T]) -> T:
    """Return what was made under this name before in the run; make it at the first call."""
    cache = observations.derived
    if name not in cache:
        cache[name] = make()
    entry: T = cache[name]
    return entry


def text_encoder(components: Components, name: str) -> Any:
    """Return the encoder of this name; raises ConfigurationError for one without text features."""
    encoder = components.encoder(name).get()
    if not isinstance(encoder, TextEncoder):
        raise ConfigurationError(f"encoder {name!r} has no features of texts")
    return encoder


def _face_name(components: Components, name: str | None, detector: str) -> str:
    """Return the name of a face detector: the given one, else that of the detector's alias."""
    alias = detector.partition(":")[2]
    return name or components.catalogue.weights.get(FACES, {}).get(alias, USUAL_FACES)


def face_part(components: Components, name: str | None, detector: str) -> FaceDetector:
    """Return the face detector of this name; without a name, that of the detector's alias.

    Raises UnknownNameError for an unknown name.
    """
    face_name = _face_name(components, name, detector)
    factory, source = named_part(components.registries.faces, face_name)
    face_detector: FaceDetector = factory(
        LoadOptions(source=source, device=components.settings.device)
    )
    return face_detector


def _language(components: Components, name: str) -> NextTokens:
    languages, device = components.registries.languages, components.settings.device
    return continuing(name, languages, components.catalogue, device)
