"""The results of the origins audit as a page, as lines for the terminal and as JSON."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.support.html import content_policy, environment, own_source
from pytest_t2i.audits.origins.measure import Origins
from pytest_t2i.reporting.formatting import interval_words, percent, percent_interval

if TYPE_CHECKING:
    from PIL.Image import Image

    from pytest_t2i.data import Interval

SCHEMA = "pytest-t2i/origins/1"
HEIGHT = 96
"""Height of the image of a cluster's best prompt in pixels; files are twice as high for sharp
screens."""


def lines(origins: Origins) -> Iterator[str]:
    """Yield the lines for the terminal."""
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

    >>> from pytest_t2i.data import Interval
    >>> near, far = (Interval(x, x - 0.05, x + 0.05, 0.95, "t", 20) for x in (0.6, 0.4))
    >>> comparison(far, near).partition(":")[0]
    "less near to the cluster than the plain prompt's"
    """
    words = "about as near to the cluster as"
    if optimised.low > plain.high:
        words = "nearer to the cluster than"
    elif optimised.high < plain.low:
        words = "less near to the cluster than"
    similarities = f"{interval_words(optimised, 3)} and {interval_words(plain, 3)}"
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


def page(origins: Origins, facts: Mapping[str, Any]) -> str:
    """Return a self-contained page: every cluster with its mean face and its prompts."""
    templates = environment("pytest_t2i.reporting")
    templates.filters |= {
        "share": percent,
        "share_interval": percent_interval,
        "interval": interval_words,
        "comparison": comparison,
    }
    style = own_source(templates, "style.css")
    return templates.get_template("origins.html.j2").render(
        origins=origins,
        facts=facts,
        faces=[data_uri(mean) for mean in origins.means],
        made=[[thumbnail(picture) for picture in pictures] for pictures in origins.made],
        height=HEIGHT,
        style=style,
        policy=content_policy(style, "", "img-src data:"),
    )


def thumbnail(picture: Image) -> str:
    """Return the data URI of a picture scaled down for the page."""
    small = picture.copy()
    small.thumbnail((2 * HEIGHT, 2 * HEIGHT))
    return data_uri(small)


def data_uri(picture: Image) -> str:
    """Return a picture as the data URI of a PNG."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
