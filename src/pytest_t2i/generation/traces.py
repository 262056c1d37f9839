"""Traces that are kept beside pictures, and the encoding of prompts."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.black_or_unreadable import gate
from pytest_t2i.adapters.picture_files import stored_picture
from pytest_t2i.data import (
    ALL_VELOCITIES,
    ATTENTION,
    ATTENTION_MAPS,
    FINAL_LATENT,
    FORESEEN,
    TEXT_EMBEDDING,
    VELOCITY,
    Generated,
    Request,
    Undetected,
    digest,
    spi_name,
)
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.detect import Pictures
from pytest_t2i.generation.identities import NamedComponent
from pytest_t2i.generation.plan import DetectorRef, ImageNeeds, Plan
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import TextEmbedding, TextEncoder

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

STORED = {name: name for name in (FINAL_LATENT, ALL_VELOCITIES, FORESEEN)}
STORED[ATTENTION] = ATTENTION_MAPS
"""Name of a trace -> its name in the store."""


def wanted(needs: ImageNeeds) -> set[str]:
    """Names, in the store, of the traces that an image needs."""
    names = {STORED[name] for name in needs.observe if name in STORED}
    if VELOCITY in needs.observe:
        names |= {spi_name(attribute) for attribute in needs.attributes}
    return names


def arrays_of(generated: Generated) -> dict[str, np.ndarray]:
    """The traces in a generated image, by name."""
    trace = generated.trace
    arrays = dict(trace.spi)
    if trace.final_latent is not None:
        arrays[FINAL_LATENT] = trace.final_latent
    if trace.attention is not None:
        arrays[ATTENTION_MAPS] = trace.attention
    if trace.velocities is not None:
        arrays[ALL_VELOCITIES] = trace.velocities
    if trace.foreseen:
        arrays[FORESEEN] = _packed_strip(trace.foreseen)
    return arrays


def kept(generated: Generated, needs: ImageNeeds) -> dict[str, np.ndarray]:
    """The traces of an image to store, by name.

    An empty array records that the model does not give this trace, so that it is not requested
    again.
    """
    import numpy as np

    unseen = dict.fromkeys(wanted(needs), np.zeros(0, dtype=np.float32))
    return unseen | arrays_of(generated)


def asked(request: Request, needs: ImageNeeds, *, looks: bool) -> Request:
    """The request with the traces that its image needs, and the detectors that look at it there."""
    attributes = tuple(
        sorted(needs.attributes, key=lambda attribute: (attribute.positive, attribute.negative))
    )
    names = {ref.name for ref in needs.detectors if looks and ref.attribute is None}
    return replace(
        request,
        observe=frozenset(needs.observe),
        attributes=attributes,
        detectors=frozenset(names),
    )


def _packed_strip(pictures: Sequence[Image]) -> np.ndarray:
    """Pictures of one size as an array of bytes: their number, then one PNG with all of them."""
    import numpy as np
    from PIL import Image

    width, height = pictures[0].size
    strip = Image.new("RGB", (width, height * len(pictures)))
    for place, picture in enumerate(pictures):
        strip.paste(picture.convert("RGB"), (0, place * height))
    buffer = io.BytesIO()
    strip.save(buffer, format="PNG", compress_level=1)
    head = len(pictures).to_bytes(4, "big")
    return np.frombuffer(head + buffer.getvalue(), dtype=np.uint8)


def unpacked_strip(array: np.ndarray) -> list[Image]:
    """The inverse of ``_packed_strip``; no picture where the strip cannot be decoded.

    >>> from PIL import Image
    >>> pictures = [Image.new("RGB", (4, 3), colour) for colour in ("red", "blue")]
    >>> [picture.getpixel((0, 0)) for picture in unpacked_strip(_packed_strip(pictures))]
    [(255, 0, 0), (0, 0, 255)]
    """
    content = array.tobytes()
    count = int.from_bytes(content[:4], "big")
    strip = stored_picture(content[4:])
    if strip is None:
        return []
    width, height = strip.size[0], strip.size[1] // count
    return [strip.crop((0, k * height, width, (k + 1) * height)) for k in range(count)]


MOST_STEPS = 10_000
"""Largest number of denoising previews of one image that are looked at."""


def preview_key(sha256: str | None, step: int) -> str:
    return digest([FORESEEN, sha256, step])


def denoising_previews(
    array: np.ndarray, sha256: str | None, detectors: frozenset[DetectorRef]
) -> Pictures:
    """The denoising previews of one image, for detectors; unpacked when needed."""
    count = min(int.from_bytes(array[:4].tobytes(), "big"), MOST_STEPS)
    steps = {preview_key(sha256, step): step for step in range(count)}
    previews: list[Image] = []

    def open_step(key: str) -> Image | Undetected | None:
        previews[:] = previews or unpacked_strip(array)
        return gate(previews[steps[key]] if len(previews) > steps[key] else None)

    return Pictures({key: ImageNeeds(detectors=detectors) for key in steps}, open_step)


TEXT_FEATURES = "text_features"
"""Name of an encoder's text features in the store."""


def read_texts(plan: Plan, components: Components, store: Store) -> None:
    """Store the model's embeddings of prompts, and encoders' features of texts."""
    _read(
        store, TEXT_EMBEDDING, components.model(), plan.embedded_texts(),
        lambda model: model.embed_text if isinstance(model, TextEmbedding) else None,
    )  # fmt: skip
    for name, texts in plan.texts.items():
        _read(
            store, TEXT_FEATURES, components.encoder(name), sorted(texts),
            lambda encoder: encoder.encode_text if isinstance(encoder, TextEncoder) else None,
        )  # fmt: skip


def _read(
    store: Store,
    name: str,
    handle: NamedComponent[Any],
    texts: Sequence[str],
    method: Callable[[Any], Callable[[Sequence[str]], Any] | None],
) -> None:
    """Store what a part makes of texts; an audit reports a part without this method."""
    texts_by_key = {text_key(handle.fingerprint, text): text for text in texts}
    arrays = store.arrays(list(texts_by_key), name)
    missing = {key: text for key, text in texts_by_key.items() if key not in arrays}
    if missing and (encode := method(handle.get())) is not None:
        store.add_arrays(name, dict(zip(missing, encode(list(missing.values())), strict=True)))


def text_key(fingerprint: str, text: str) -> str:
    """The store's key of a text's embedding or features by a model or encoder."""
    return digest(["text", fingerprint, text])
