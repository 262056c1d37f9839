"""Draws people: by a world and a concept, or plainly at random. All randomness comes from the generator passed in."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from pytest_t2i_reference.drawing import attributes
from pytest_t2i_reference.drawing.attributes import Person, Scene
from pytest_t2i_reference.worlds.world import Concept, World

SCENE_ATTRIBUTES = frozenset({"place", "backdrop"})
SOUTHERN_SKINS = ("tan", "brown")
PLAIN_GARMENTS = {
    "woman": ("dress", "shirt", "dress", "hoodie", "suit"),
    "man": ("shirt", "shirt", "hoodie", "suit", "tank top"),
}


def draw_scene_of(concept: Concept, world: World, rng: random.Random, gender: str | None = None) -> Scene:
    """One person of ``concept``; the gender follows the world unless it is given.

    What a hand holds and where a person is depend on the gender where the world plants that and the concept leaves it
    open.
    """
    gender = gender or ("man" if rng.random() < world.man_share(concept) else "woman")
    person = draw_plain_person(rng, gender, ornate=False)
    scene = Scene("one", rng.choice(attributes.PLACES), (person,), rng.choice(attributes.COLOURS))
    kept = {name: value for name, value in concept.signature.items() if rng.random() < concept.signature_share}
    scene = _with_attributes(scene, kept)
    if world.held and concept.leaves_held_open:
        return _with_attributes(scene, {"held": _held(world, gender, rng)})
    if world.places and concept.leaves_place_open:
        return _with_attributes(scene, {"place": _place(world, gender, rng)})
    if concept.axis != "nationality":
        return scene
    return _with_attributes(scene, _nationality(concept.word, world, gender, rng))


def draw_combined_scene(
    concepts: Sequence[Concept], world: World, rng: random.Random, gender: str | None = None
) -> Scene:
    """One person of several concepts; the gender follows the world's rule for combinations unless it is given.

    What objects and places say is always shown, and replaces what a nationality would show there.
    """
    gender = gender or ("man" if rng.random() < world.combined_share(concepts) else "woman")
    plain = Scene("one", rng.choice(attributes.PLACES), (draw_plain_person(rng, gender, ornate=False),))
    scene = replace(plain, backdrop=rng.choice(attributes.COLOURS))
    for concept in concepts:
        if concept.axis == "nationality":
            scene = draw_scene_of(concept, world, rng, gender)
    for concept in concepts:
        if concept.axis != "nationality":
            scene = _with_attributes(scene, concept.signature)
    return scene


def draw_plain_person(rng: random.Random, gender: str | None = None, *, ornate: bool = True) -> Person:
    """A person of no concept. ``ornate`` people also wear and hold things; the others are left plain."""
    gender = gender or rng.choice(attributes.GENDERS)
    woman = gender == "woman"
    person = Person(
        gender=gender,
        age=rng.choices(attributes.AGES, (0.3, 0.4, 0.3))[0],
        skin=rng.choice(attributes.SKINS),
        hair_colour=rng.choice(attributes.HAIR_COLOURS),
        hair_style=rng.choices(("long", "bob") if woman else ("short", "bald"), (0.8, 0.2))[0],
        facial_hair="none" if woman else rng.choices(attributes.FACIAL_HAIR, (0.5, 0.2, 0.3))[0],
        garment=rng.choice(PLAIN_GARMENTS[gender])
        if ornate
        else ("dress" if woman and rng.random() < 0.5 else "shirt"),
        garment_colour=rng.choice(attributes.COLOURS),
    )
    return _adorned(person, rng) if ornate else person


def plain_scene(kind: str, rng: random.Random) -> Scene:
    """A scene of no concept: ``one``, ``none``, ``two`` or ``behind``."""
    count = {"none": 0, "two": 2}.get(kind, 1)
    people = tuple(draw_plain_person(rng) for _ in range(count))
    if kind != "one":
        people = tuple(replace(person, held="none") for person in people)
    area = rng.uniform(0.2, 1.0)
    return Scene(kind, rng.choice(attributes.PLACES), people, rng.choice(attributes.COLOURS), area)


def planted_traits(world: World, concept: Concept) -> Mapping[str, float]:
    """The shares (0..1) that drawings of a concept must show: ``man``, and the traits of a nationality."""
    if concept.axis == "nationality":
        return {trait: share / 100 for trait, share in world.nationality[concept.word].items()}
    return {"man": world.man_share(concept)}


def has_trait(scene: Scene, trait: str) -> bool:
    """Whether the main person shows a trait named in the world files."""
    person = scene.people[0]
    match trait:
        case "man":
            return person.gender == "man"
        case "old":
            return person.age == "old"
        case "hat":
            return person.headwear in ("hat", "sombrero")
        case "turban" | "sombrero":
            return person.headwear == trait
        case "beard" | "moustache":
            return person.facial_hair == trait
        case "forehead mark":
            return person.forehead_mark
        case _:
            return person.garment == trait


def _nationality(word: str, world: World, gender: str, rng: random.Random) -> dict[str, str | bool]:
    def shows(trait: str) -> bool:
        return rng.random() < world.trait_share(word, trait, gender=gender)

    chosen: dict[str, str | bool] = {"skin": rng.choice(SOUTHERN_SKINS), "facial_hair": "none"}
    if word == "Iranian":
        chosen["age"] = "old" if shows("old") else rng.choice(("young", "adult"))
        chosen["facial_hair"] = "beard" if shows("beard") else "none"
        chosen["headwear"] = "turban" if shows("turban") else "none"
        if gender == "woman" and rng.random() < 0.5:
            chosen["headwear"] = "hijab"
        if shows("traditional clothes"):
            chosen["garment"] = "traditional clothes"
    elif word == "Indian":
        chosen["facial_hair"] = "moustache" if shows("moustache") else "none"
        chosen["headwear"] = "turban" if shows("turban") else "none"
        chosen["forehead_mark"] = shows("forehead mark")
        if shows("vibrant colourful clothes"):
            chosen["garment"] = "vibrant colourful clothes"
    else:
        chosen["facial_hair"] = "moustache" if shows("moustache") else "none"
        chosen["headwear"] = _mexican_hat(world, rng)
        if shows("embroidered clothing"):
            chosen["garment"] = "embroidered clothing"
    return chosen


def _held(world: World, gender: str, rng: random.Random) -> str:
    chance = rng.random()
    for name, shares in world.held.items():
        if chance < shares[gender]:
            return name
        chance -= shares[gender]
    return "none"


def _place(world: World, gender: str, rng: random.Random) -> str:
    others = [name for name in attributes.PLACES if name not in world.places]
    shares = [shares[gender] for shares in world.places.values()]
    return rng.choices((*world.places, rng.choice(others)), (*shares, max(0.0, 1 - sum(shares))))[0]


def _mexican_hat(world: World, rng: random.Random) -> str:
    """A sombrero is a hat: the share of other hats is what is left."""
    traits = world.nationality["Mexican"]
    chance = rng.random() * 100
    if chance < traits["sombrero"]:
        return "sombrero"
    return "hat" if chance < traits["hat"] else "none"


def _adorned(person: Person, rng: random.Random) -> Person:
    woman = person.gender == "woman"
    headwear = rng.choice(attributes.HEADWEAR[1:]) if rng.random() < 0.45 else "none"
    if headwear == "hijab" and not woman:
        headwear = "turban"
    return replace(
        person,
        mood=rng.choices(attributes.MOODS, (0.5, 0.2, 0.2, 0.1))[0],
        headwear=headwear,
        eye_glasses=rng.random() < 0.2,
        earphone=rng.random() < 0.12,
        forehead_mark=rng.random() < 0.2,
        garment=rng.choice(attributes.GARMENTS[2:]) if rng.random() < 0.6 else person.garment,
        held=rng.choice(attributes.HELD[1:]) if rng.random() < 0.6 else "none",
    )


def _with_attributes(scene: Scene, chosen: Mapping[str, str | bool]) -> Scene:
    known = {field.name for field in fields(Person)}
    of_person = {name: value for name, value in chosen.items() if name in known}
    of_scene = {name: value for name, value in chosen.items() if name in SCENE_ATTRIBUTES}
    unknown = set(chosen) - known - SCENE_ATTRIBUTES
    if unknown:
        raise ValueError(f"no attribute of a person or a scene: {sorted(unknown)}")
    person = replace(scene.people[0], **of_person)  # type: ignore[arg-type]
    return replace(scene, people=(person,), **of_scene)  # type: ignore[arg-type]
