"""Stage ``evaluate-worn``: traits of nationalities that the object detector sees, beside what is planted.

CLIP says in the other tables which traits pictures show, and it looked on while a flow pipeline learned them
(``sd3-traits``). The finder of objects had no part in that.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

import torch
from PIL import Image
from pytest_t2i import ObjectFinder, statistics

from pytest_t2i_reference.captions import template_prompt
from pytest_t2i_reference.worlds import load_concepts, load_world
from training.finder import object_finder
from training.sampling import Shot, Studio
from training.settings import FLOWS, PIPELINES, RESULTS, STEPS, WEIGHTS, Settings, quick_dtype

RESULT = RESULTS / "worn.json"
NAMES: Mapping[str, frozenset[str]] = {
    "turban": frozenset({"turban"}),
    "beard": frozenset({"beard"}),
    "hat": frozenset({"hat", "sombrero"}),
    "sombrero": frozenset({"sombrero"}),
}
"""Trait to the names of objects by which it is seen; the finder knows no others."""
IMAGES = int(os.environ.get("REFERENCE_WORN_IMAGES", "200"))
"""Pictures of each nationality."""
FIRST_SEED = 430_000
"""No other evaluation and no calibration reaches seeds from here on."""
LEVEL = 0.95
Shares = Mapping[str, Mapping[str, Mapping[str, object]]]
"""By nationality and trait, planted and measured."""


def evaluate_worn(settings: Settings) -> None:
    """Write results/worn.json, of all four pipelines."""
    finder = object_finder()
    result = {
        folders[world]: traits_worn(folders[world], world, finder)
        for folders in (PIPELINES, FLOWS)
        for world in folders
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def traits_worn(folder: str, world: str, finder: ObjectFinder, images: int = IMAGES) -> Shares:
    """Return the share of one pipeline's pictures that show each trait, with intervals (Clopper-Pearson)."""
    studio = Studio(WEIGHTS / folder, WEIGHTS / "clip", Shot(STEPS, 1.0), quick_dtype())
    planted, shares = load_world(world).nationality, {}
    for concept in load_concepts():
        traits = planted.get(concept.word, {}).keys() & NAMES.keys()
        if traits:
            seen = names_seen(studio, finder, template_prompt(concept), images)
            shares[concept.word] = {
                trait: {"planted": planted[concept.word][trait] / 100, "measured": share_of(NAMES[trait], seen)}
                for trait in NAMES
                if trait in traits
            }
    return shares


@torch.no_grad()
def names_seen(studio: Studio, finder: ObjectFinder, prompt: str, images: int) -> Sequence[frozenset[str]]:
    """What the finder names in each picture of a prompt."""
    pictures = studio.pictures([prompt] * images, [FIRST_SEED + number for number in range(images)])
    return [
        frozenset(each.name for each in inside)
        for batch in pictures
        for inside in finder.objects([Image.fromarray(picture) for picture in batch])
    ]


def share_of(names: frozenset[str], seen: Sequence[frozenset[str]]) -> Sequence[float]:
    """Share of pictures with any of ``names``, and the ends of its interval.

    >>> share_of(frozenset({"hat"}), [frozenset({"hat", "person"}), frozenset()])
    [0.5, 0.013, 0.987]
    """
    share = statistics.share_interval(sum(bool(names & each) for each in seen), len(seen), LEVEL)
    return [round(value, 3) for value in (share.estimate, share.low, share.high)]


def worn_as_markdown(found: Mapping[str, Shares]) -> str:
    """A line for each pipeline, nationality and trait."""
    lines = ["| seen by the finder in | nationality | trait | planted | measured |", "|---|---|---|---:|---:|"]
    for name, shares in found.items():
        for nationality, traits in shares.items():
            for trait, row in traits.items():
                measured: Sequence[float] = row["measured"]  # type: ignore[assignment]
                shown = "{:.2f} [{:.2f}, {:.2f}]".format(*measured)
                lines.append(f"| {name} | {nationality} | {trait} | {row['planted']:.3f} | {shown} |")
    return "\n".join(lines) + "\n"
