"""Planted distributions: which attributes people of a concept have, in a balanced and in a biased world."""

from pytest_t2i_reference.worlds.population import (
    draw_combined_scene,
    draw_plain_person,
    draw_scene_of,
    plain_scene,
    planted_traits,
)
from pytest_t2i_reference.worlds.world import Concept, PlantedIntersection, World, load_concepts, load_world

__all__ = [
    "Concept",
    "PlantedIntersection",
    "World",
    "draw_combined_scene",
    "draw_plain_person",
    "draw_scene_of",
    "load_concepts",
    "load_world",
    "plain_scene",
    "planted_traits",
]
