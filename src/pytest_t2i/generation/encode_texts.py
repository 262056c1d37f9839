"""Compute text embeddings and text features once, and store them."""

from __future__ import annotations

from pytest_t2i.data import TEXT_EMBEDDING, digest
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import Plan
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import TextEmbedding, TextEncoder

TEXT_FEATURES = "text_features"
"""Name of an encoder's text features in the store."""


def embed_texts(plan: Plan, components: Components, store: Store) -> None:
    """Store the text embeddings of prompts, where the model under test gives them."""
    handle = components.model()
    wanted = {text_key(handle.fingerprint, text): text for text in plan.embedded_texts()}
    known = store.arrays(list(wanted), TEXT_EMBEDDING)
    missing = {key: text for key, text in wanted.items() if key not in known}
    if not missing:
        return
    model = handle.get()
    if not isinstance(model, TextEmbedding):
        return  # the audit reports that this space cannot be observed
    embedded = model.embed_text(list(missing.values()))
    store.add_arrays(TEXT_EMBEDDING, dict(zip(missing, embedded, strict=True)))


def encode_texts(plan: Plan, components: Components, store: Store) -> None:
    """Store the features of texts, by encoders that can encode text."""
    for name, texts in plan.texts.items():
        handle = components.encoder(name)
        wanted = {text_key(handle.fingerprint, text): text for text in sorted(texts)}
        known = store.arrays(list(wanted), TEXT_FEATURES)
        missing = {key: text for key, text in wanted.items() if key not in known}
        encoder = handle.get() if missing else None
        if isinstance(encoder, TextEncoder):  # else the audit reports that it has none
            features = encoder.encode_text(list(missing.values()))
            store.add_arrays(TEXT_FEATURES, dict(zip(missing, features, strict=True)))


def text_key(fingerprint: str, text: str) -> str:
    """The store's key of a text's embedding or features by a model or encoder."""
    return digest(["text", fingerprint, text])
