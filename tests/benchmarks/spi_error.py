"""How far centred SPI is off where a pipeline draws a planted world: the instrument's own error.

Of a flow pipeline of the reference models whose early steps were measured, by world:

    pytest suites/emergence --t2i-model reference-sd3 --t2i-images 8 --t2i-report=balanced
    pytest suites/emergence --t2i-model reference-sd3-biased --t2i-images 8 --t2i-report=biased
    python tests/benchmarks/spi_error.py balanced=balanced/run.json biased=biased/run.json

A world that is drawn perfectly shows 2 P - 1 in its first step, P being the share of people that
show the attribute (plugins/pytest-t2i-reference/README.md).
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import numpy as np
from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world
from pytest_t2i_reference.worlds.population import has_trait
from shared_data import table

NAMES = {"bindi": "forehead mark", "vibrant clothes": "vibrant colourful clothes"}
"""Attribute of OASIS Table 1 -> trait of the worlds, where these are called otherwise."""
DRAWN = 4000
HEADER = ("world", "concept", "attribute", "measured", "planted", "off by")


def planted(word, attribute, world):
    """2 P - 1 of people as a world has them drawn."""
    rng, known = random.Random(f"{word} {world}"), load_world(world)
    (concept,) = (each for each in load_concepts() if each.word == word)
    trait = NAMES.get(attribute, attribute)
    shown = sum(has_trait(draw_scene_of(concept, known, rng), trait) for _ in range(DRAWN))
    return 2 * shown / DRAWN - 1


def measured(file):
    """Concept, attribute and centred SPI of the first step."""
    record = json.loads(Path(file).read_text(encoding="utf-8"))
    for one in record["audits"]["emergence"]["record"]["emergence"]:
        if one["guidance"] and one["centred"]:
            yield one["concept"], one["attribute"], one["centred"][0]


def main(arguments):
    """Print every attribute, and for each world how far off most are."""
    rows, errors = [], {}
    for argument in arguments:
        world, _, file = argument.partition("=")
        for concept, attribute, value in measured(file):
            truth = planted(concept, attribute, world)
            errors.setdefault(world, []).append(value - truth)
            told = (f"{number:+.3f}" for number in (value, truth, value - truth))
            rows.append((world, concept, attribute, *told))
    print(table(HEADER, rows))
    for world, off in errors.items():
        size = np.abs(off)
        print(
            f"{world}: {len(off)} attributes, mean {np.mean(off):+.3f}, nine in ten are off by at "
            f"most {np.quantile(size, 0.9):.2f}, all by at most {size.max():.2f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
