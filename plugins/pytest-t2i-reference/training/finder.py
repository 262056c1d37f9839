"""The shipped finder of objects, found as its users find it: by its entry point."""

from __future__ import annotations

from importlib.metadata import entry_points

from pytest_t2i import LoadOptions, ObjectFinder

from training.settings import WEIGHTS


def object_finder() -> ObjectFinder:
    """The one that reads ``weights/yolo/objects.pt``, on the CPU."""
    (entry,) = entry_points(group="pytest_t2i.objects", name="yolo")
    finder: ObjectFinder = entry.load()(LoadOptions(source=str(WEIGHTS / "yolo" / "objects.pt"), device="cpu"))
    return finder
