"""Distributions that are not installed, made to look as if they were: entry points on the path."""

from __future__ import annotations

from pytest_t2i.adapters import metric_discovery, registry
from pytest_t2i.audits import discovery


def write_metadata(folder, name, version, groups):
    """What installing leaves: who it is, and its entry points (group -> name -> object)."""
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (about / "METADATA").write_text(metadata)
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines))


def installed(folder, monkeypatch):
    """A fixture's body: the distributions of a folder are there while the test runs."""
    monkeypatch.syspath_prepend(folder)
    forget_what_is_installed()
    yield folder
    forget_what_is_installed()


def forget_what_is_installed():
    """The registries look through the path once."""
    for module in (registry, discovery, metric_discovery):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
