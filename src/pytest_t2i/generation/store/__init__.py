"""The store: images, traces, features and detections; content-addressed and append-only."""

from pytest_t2i.generation.store.store import Store, StoredImage

__all__ = ["Store", "StoredImage"]
