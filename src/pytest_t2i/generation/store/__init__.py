"""The store: images, traces, features and detections; content-addressed and append-only."""

from pytest_t2i.generation.store.entries import StoredImage
from pytest_t2i.generation.store.store import Store

__all__ = ["Store", "StoredImage"]
