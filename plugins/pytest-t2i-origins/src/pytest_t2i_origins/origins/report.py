"""The results of the origins audit as a page, as lines for the terminal and as JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i import Interval, sections, write_page, write_whole

from pytest_t2i_origins.origins.measure import Cluster, Origins

if TYPE_CHECKING:
    from PIL.Image import Image

SCHEMA = "pytest-t2i/origins/1"


def lines(origins: Origins) -> Iterator[str]:
    yield (
        f"{origins.prompt.text!r}: {len(origins.clusters)} clusters of {origins.images} images, "
        f"{origins.faceless} without a face"
    )
    yield from _shown(origins)
    for number, cluster in enumerate(origins.clusters, start=1):
        excess = "" if cluster.excess is None else f", mean stereotype score {cluster.excess:.2f}"
        yield f"cluster {number}: {percent(cluster.share.estimate)} of the images{excess}"
        if cluster.shares:
            shares = sorted(cluster.shares.items(), key=lambda pair: -pair[1].estimate)
            yield "  " + ", ".join(f"{name} {percent(share.estimate)}" for name, share in shares)
        yield "  prompts by their mean similarity to its images:"
        for prompt in cluster.prompts[:3]:
            yield f"  {prompt.similarity:.3f}  {prompt.text}"
        if cluster.optimised is not None and cluster.plain is not None:
            yield f"  images of the first are {comparison(cluster.optimised, cluster.plain)}"


def _shown(origins: Origins) -> Iterator[str]:
    """Yield a line per attribute: its share in all images beside that of the real world."""
    if origins.shown:
        yield "all images with a face, beside the real world (by the interval):"
    width = max((len(attribute.name) for attribute in origins.shown), default=0)
    for attribute in origins.shown:
        here, there = percent(attribute.share.estimate), percent(attribute.expected)
        further = "  further" if attribute.beyond else ""
        yield f"  {attribute.name:<{width}}  {here:>6}  {there:>6}{further}"


def comparison(optimised: Interval, plain: Interval) -> str:
    """Return whether an optimised prompt's images are nearer to a cluster than the plain prompt's.

    >>> from pytest_t2i import Interval
    >>> near, far = (Interval(x, x - 0.05, x + 0.05, 0.95, "t", 20) for x in (0.6, 0.4))
    >>> comparison(far, near).partition(":")[0]
    "less near to the cluster than the plain prompt's"
    """
    words = "about as near to the cluster as"
    if optimised.low > plain.high:
        words = "nearer to the cluster than"
    elif optimised.high < plain.low:
        words = "less near to the cluster than"
    similarities = f"{_interval_words(optimised)} and {_interval_words(plain)}"
    return f"{words} the plain prompt's: {similarities}"


def as_json(origins: Origins, facts: Mapping[str, Any]) -> str:
    """Return all results and the facts of the run as JSON."""
    plain = {
        "schema": SCHEMA,
        **facts,
        "prompt": origins.prompt.text,
        "images": origins.images,
        "faceless": origins.faceless,
        "shown": [{**asdict(attribute), "beyond": attribute.beyond} for attribute in origins.shown],
        "clusters": [asdict(cluster) for cluster in origins.clusters],
    }
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_report(origins: Origins, facts: Mapping[str, Any], folder: Path) -> Path:
    """Write a page of every cluster with its mean face and its prompts; return the page's path."""
    parts = [_shares(origins)] if origins.shown else []
    parts += [
        _cluster(number, cluster, origins, folder)
        for number, cluster in enumerate(origins.clusters, start=1)
    ]
    provenance = tuple((name, str(value)) for name, value in facts.items())
    table = sections.Table("Provenance", ("what", "value"), provenance, whole=True)
    parts.append(sections.Section("Provenance", (table,)))
    lead = (
        f"{origins.images} images, {origins.faceless} without a face. Each cluster holds similar "
        "faces. The cluster furthest from real-world shares comes first; where no shares are "
        "known, the largest. The prompts of a cluster are written by a language model and are the "
        "nearest to its images by an encoder (StOP, OASIS eq. 8)."
    )
    title = f"What the model associates with “{origins.prompt.text}”"
    return write_page(folder, title, parts, lead=lead, kicker="Origins")


def _shares(origins: Origins) -> sections.Section:
    """Return how many images show each attribute, beside the real world."""
    clusters = (f"cluster {number}" for number, _ in enumerate(origins.clusters, start=1))
    columns = ("attribute", "real world", "all images", "further", *clusters)
    rows = tuple(
        (
            attribute.name,
            percent(attribute.expected),
            percent_interval(attribute.share),
            "yes" if attribute.beyond else "",
            *(percent_interval(cluster.shares[attribute.name]) for cluster in origins.clusters),
        )
        for attribute in origins.shown
    )
    note = (
        "Further: the share of all images exceeds that of the real world, by the interval. A "
        "prompt that names an attribute asks for images of it; only a share above that of the "
        "real world is a stereotype."
    )
    table = sections.Table("How many images show an attribute", columns, rows, whole=True)
    return sections.Section("How many images show an attribute", (table, sections.Note(note)))


def _cluster(number: int, cluster: Cluster, origins: Origins, folder: Path) -> sections.Section:
    """Return a cluster's faces, prompts and images; their files are written into the folder."""
    share = f"{percent_interval(cluster.share)} of the images"
    score = "" if cluster.excess is None else f", mean stereotype score {cluster.excess:.2f}"
    mean = [origins.means[number - 1]]
    prompts = tuple((prompt.text, f"{prompt.similarity:.3f}") for prompt in cluster.prompts)
    blocks: list[sections.Block] = [
        sections.Paragraph(f"{share}{score}."),
        _album("Mean of the aligned faces", mean, folder / f"cluster-{number}-face"),
        sections.Table(
            "Optimised prompts, by mean similarity to its images",
            ("prompt", "similarity"),
            prompts,
            whole=True,
        ),
    ]
    if origins.made and origins.made[number - 1]:
        title = f"Images of “{cluster.prompts[0].text}”"
        blocks.append(_album(title, origins.made[number - 1], folder / f"cluster-{number}-prompt"))
    if cluster.optimised is not None and cluster.plain is not None:
        text = (
            f"Its {cluster.optimised.n} images are {comparison(cluster.optimised, cluster.plain)} "
            f"(mean cosine; {cluster.plain.n} of the plain prompt)."
        )
        blocks.append(sections.Paragraph(text))
    return sections.Section(f"Cluster {number}", tuple(blocks))


def _album(title: str, pictures: Sequence[Image], beginning: Path) -> sections.Album:
    """Write pictures to files whose names begin alike, and return them under a heading."""
    shown = []
    for place, picture in enumerate(pictures, start=1):
        buffer = io.BytesIO()
        picture.save(buffer, format="PNG")
        file = beginning.with_name(f"{beginning.name}-{place}.png")
        write_whole(file, buffer.getvalue())
        shown.append(sections.Picture(str(file), str(place)))
    return sections.Album(title, tuple(shown), level="body")


def percent(share: float) -> str:
    """Format a share as ``25 %``, or ``0.2 %`` where a whole number would be 0.

    >>> percent(0.25), percent(0.002)
    ('25 %', '0.2 %')
    """
    return f"{100 * share:.{int(0.0 < share < 0.005)}f} %"  # noqa: PLR2004 - rounds to 0


def percent_interval(interval: Interval) -> str:
    """Format the interval of a share as ``25 % [20, 31]``."""
    low, high = (round(100 * end) for end in (interval.low, interval.high))
    return f"{percent(interval.estimate)} [{low}, {high}]"


def _interval_words(interval: Interval) -> str:
    words = f"{interval.estimate:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"
    return words.replace("-", "\N{MINUS SIGN}")
