"""From a prompt's images to prompts that lead to each cluster of their faces (OASIS 3.3).

``t2i research stop`` and a test's ``sample.origins`` share this module, which makes no image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pytest_t2i import (
    Encoder,
    FaceDetector,
    LoadOptions,
    NextTokens,
    Observations,
    Prompt,
    Sample,
    Stereotype,
    T2IError,
    TextEncoder,
    code_of_factory,
    digest,
)

from pytest_t2i_origins.languages import continuing
from pytest_t2i_origins.origins.aligned import aligned_faces
from pytest_t2i_origins.origins.measure import (
    Origins,
    clusters_of,
    mean_picture,
    presence_of,
    shown_attributes,
)
from pytest_t2i_origins.origins.optimised_prompts import (
    TOP,
    WIDTH,
    OptimisedPrompt,
    Search,
    check_count,
    chosen_search,
    optimised_prompts,
    unit_rows,
)

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
    clear = {
        place: picture
        for place, (image, picture) in enumerate(zip(images, pictures, strict=True))
        if image.undetected is None and picture is not None
    }
    there, clear_pictures = list(clear), list(clear.values())
    features = _features([arrays[place] for place in there], clear_pictures, handle.get)
    return SeenImages(
        features, clear_pictures, [images[k].sha256 for k in there], handle.fingerprint
    )


def _features(
    stored_rows: Sequence[np.ndarray | None],
    pictures: Sequence[Image],
    load: Callable[[], Encoder],
) -> np.ndarray:
    """Return unit rows of features; pictures without ``stored_rows`` are encoded.

    ``load`` returns the encoder.
    """
    unknown = [picture for picture, row in zip(pictures, stored_rows, strict=True) if row is None]
    encoded = iter(load().encode(unknown)) if unknown else iter(())
    rows = [next(encoded) if row is None else row for row in stored_rows]
    return unit_rows(np.stack(rows)) if rows else np.empty((0, 0))


def origins_of_images(
    prompt: Prompt,
    images: SeenImages,
    stereotypes: Sequence[Stereotype],
    parts: OriginParts,
    observations: Observations,
) -> Origins:
    """Return clusters of a prompt's images by their faces, each with the prompts nearest to it.

    The store remembers these prompts. Raises T2IError where no face is found, and for
    fewer faces than clusters.
    """
    # scikit-learn is an extra.
    from pytest_t2i_origins.origins.clustering import spectral_clusters

    cut = aligned_faces(parts.faces, images.pictures)
    faces = [(place, face) for place, face in enumerate(cut) if face is not None]
    if not faces:
        raise T2IError(f"no face was found in {len(cut)} images of {prompt.text!r}")
    places = tuple(place for place, _ in faces)
    features = images.features[list(places)]
    of_faces = unit_rows(parts.encoder.encode([face for _, face in faces]))
    labels = spectral_clusters(of_faces, parts.clusters, parts.seed)
    shows = presence_of(features, parts.encoder, stereotypes)
    clusters = clusters_of(labels, shows, stereotypes, parts.level)
    for place, cluster in enumerate(clusters[: parts.explained]):
        positions = [places[member] for member in cluster.members]
        clusters[place] = replace(cluster, prompts=_prompts(images, positions, parts, observations))
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
    images: SeenImages, positions: Sequence[int], parts: OriginParts, observations: Observations
) -> tuple[OptimisedPrompt, ...]:
    name = _name_of_search(images, positions, parts)
    pairs = observations.store.fact(name) if name else None
    if pairs is None:
        features = images.features[list(positions)]
        prompts = optimised_prompts(parts.language, parts.encoder, features, parts.search)
        pairs = [[prompt.text, prompt.similarity] for prompt in prompts]
        if name:
            observations.store.remember(name, pairs)
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


def origins(
    sample: Sample,
    llm: str,
    *,
    stereotypes: Sequence[Stereotype] = (),
    faces: str | None = None,
    clusters: int | None = None,
    explained: int | None = None,
    sentences: bool = False,
    tokens: int | None = None,
    width: int = WIDTH,
    likely: float | None = None,
    top: int = TOP,
) -> Origins:
    """Return clusters of the images' faces, with prompts that lead to each (StOP, OASIS 3.3).

    This is ``sample.origins``; no image is made.

    Args:
        sample: the detections of a test's prompt.
        llm: a language model as ``t2i research stop --llm`` takes it.
        stereotypes: the clusters furthest from these real-world shares come first; without
            stereotypes, the largest.
        faces: name of a face detector; None takes that of the detector's alias.
        clusters: number of clusters; None finds it from the faces.
        explained: number of first clusters that get prompts; None for all.
        sentences: whether prompts are whole sentences.
        tokens: number of tokens of a prompt (default 2; with ``sentences``, up to 12).
        width: number of tokens that the language model offers at a time.
        likely: smallest probability of a token (default 0; 0.05 for ``sentences``).
        top: number of prompts of a cluster.

    Raises:
        T2IError: there are fewer faces than clusters, the language model ends no sentence in time,
            an argument is wrong, or a part or language model is unknown.
    """
    search = chosen_search(sentences=sentences, tokens=tokens, likely=likely, width=width, top=top)
    _check(llm, stereotypes, clusters=clusters, explained=explained)
    observations, instruments = sample.observations, sample.instruments
    if instruments is None:
        raise T2IError(f"{sample.prompt.id}: origins need a sample of a test run")
    face = _face_name(observations, faces, sample.ref.name)
    how = (llm, tuple(stereotypes), face, clusters, explained, search)
    by = (instruments.encoder, instruments.seed, sample.level)

    def look() -> Origins:
        parts = OriginParts(
            text_encoder(observations, instruments.encoder),
            _once(observations, ("face part", face), partial(face_part, observations, face, "")),
            _once(observations, ("language", llm), partial(continuing, llm, observations)),
            search,
            clusters,
            instruments.seed,
            sample.level,
            explained,
            llm,
        )
        images = seen_images(observations, sample.prompt, sample.seeds, instruments.encoder)
        return origins_of_images(sample.prompt, images, stereotypes, parts, observations)

    return _once(observations, ("origins", sample.prompt, sample.seeds, *how, *by), look)


def _check(llm: object, stereotypes: Sequence[object], **counts: object) -> None:
    """Raise T2IError for wrong arguments."""
    if not isinstance(llm, str) or not llm.strip():
        raise T2IError(f"llm names a language model, such as 'reference-lm', got {llm!r}")
    for stereotype in stereotypes:
        if not isinstance(stereotype, Stereotype):
            raise T2IError(f"stereotypes: expected Stereotypes, got {stereotype!r}")
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


def text_encoder(observations: Observations, name: str) -> Any:
    """Return the encoder of this name; raises T2IError for one without text features."""
    encoder = observations.components.encoder(name).get()
    if not isinstance(encoder, TextEncoder):
        raise T2IError(f"encoder {name!r} has no features of texts")
    return encoder


def _face_name(observations: Observations, name: str | None, detector: str) -> str:
    """Return the name of a face detector: the given one, else that of the detector's alias."""
    alias = detector.partition(":")[2]
    of_aliases = observations.components.catalogue.weights.get("faces", {})
    return name or of_aliases.get(alias, USUAL_FACES)


def face_part(observations: Observations, name: str | None, detector: str) -> FaceDetector:
    """Return the face detector of this name; without a name, that of the detector's alias.

    Raises T2IError for an unknown name.
    """
    components = observations.components
    base, source = components.registries.faces.named(_face_name(observations, name, detector))
    options = LoadOptions(source=source, device=components.settings.device)
    face_detector: FaceDetector = components.registries.faces.get(base)(options)
    return face_detector
