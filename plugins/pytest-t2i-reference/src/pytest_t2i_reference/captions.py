"""The texts that go with drawings: the templates of the papers, their gendered variants, and descriptions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_t2i_reference.drawing.attributes import Person, Scene
from pytest_t2i_reference.worlds.world import Concept

PREFIX = "a photo of one real person"
VARIANTS = ("neutral", "feminine", "masculine")
NOUNS: Mapping[str, tuple[str, ...]] = {
    "neutral": ("person",),
    "feminine": ("woman", "female", "female person"),
    "masculine": ("man", "male", "male person"),
}
ADJECTIVES: Mapping[str, str] = {"feminine": "female ", "masculine": "male ", "neutral": ""}
SPOKEN_WITH_AN = "aeio"
AN_ANYWAY = ("honest", "unreliable", "umbrella")
A_ANYWAY = ("one", "european")
PLACE_PHRASES: Mapping[str, str] = {
    "beach": "at the beach", "bus station": "at the bus station", "park": "in the park", "street": "on the street",
    "stage": "on a stage", "studio": "in a studio", "school campus": "at the school campus",
    "gym": "at the gym", "office": "in an office", "library": "at the library", "hospital": "at the hospital",
    "museum": "at the museum", "mall": "at the mall", "kitchen": "in a kitchen", "classroom": "in a classroom",
    "workshop": "in a workshop",
}  # fmt: skip


def article(phrase: str) -> str:
    """``a`` or ``an`` as the first word of the phrase is spoken.

    >>> [article(word) for word in ("nurse", "engineer", "CEO", "uniform", "unreliable person", "honest person")]
    ['a', 'an', 'a', 'a', 'an', 'an']
    """
    first = phrase.lower().split()[0]
    if first in A_ANYWAY:
        return "a"
    return "an" if first[0] in SPOKEN_WITH_AN or first in AN_ANYWAY else "a"


def with_article(phrase: str) -> str:
    """The phrase behind its article."""
    return f"{article(phrase)} {phrase}"


def template_prompt(concept: Concept) -> str:
    """The neutral prompt of the papers: Lyu et al. Table 4, or OASIS for nationalities."""
    word = concept.word
    match concept.axis:
        case "profession":
            return f"{PREFIX} who is {with_article(word)}"
        case "personality" | "activity":
            return f"{PREFIX} who is {word}"
        case "object":
            return f"{PREFIX} with {with_article(word)}"
        case "place":
            return f"{PREFIX} at the {word}"
        case _:
            return f"A photo of {with_article(word)} person"


def concept_prompts(concept: Concept, variant: str) -> tuple[str, ...]:
    """All the ways a concept is asked for in a variant; the papers' own template comes first."""
    if variant == "neutral":
        return (template_prompt(concept), *_phrasings(concept, "person", ""))
    noun = "woman" if variant == "feminine" else "man"
    adjective = ADJECTIVES[variant]
    prompts = [
        template_prompt(concept).replace("person", noun),
        *_phrasings(concept, noun, adjective),
    ]
    if concept.axis == "profession":
        job = with_article(adjective + concept.word)
        prompts += [
            f"{PREFIX} who is {job}",
            f"a photo of {job}",
            f"a photo of a {noun} who is {job}",
        ]
    prompts.append(template_prompt(concept).replace("person", f"{adjective}person"))
    return tuple(prompts)


def triplet(concept: Concept) -> tuple[str, str, str]:
    """Neutral, feminine and masculine prompt as the suites ask for them: female/male stands before a profession."""
    neutral = template_prompt(concept)
    if concept.axis != "profession":
        return neutral, neutral.replace("person", "woman"), neutral.replace("person", "man")
    return (
        neutral,
        f"{PREFIX} who is a female {concept.word}",
        f"{PREFIX} who is a male {concept.word}",
    )


def _phrasings(concept: Concept, noun: str, adjective: str) -> list[str]:
    word = concept.word
    match concept.axis:
        case "profession":
            return [
                f"a photo of a {noun} who is {with_article(word)}",
                f"a photo of {with_article(adjective + word)}",
                f"a photo of a {noun} who works as {with_article(word)}",
            ]
        case "personality" | "activity":
            return [f"a photo of a {noun} who is {word}", f"a photo of {with_article(word)} {noun}"]
        case "object":
            return [
                f"a photo of a {noun} with {with_article(word)}",
                f"a photo of one real {noun} with {word}",
            ]
        case "place":
            return [
                f"a photo of a {noun} at the {word}",
                f"a photo of one real {noun} in the {word}",
            ]
        case _:
            return [
                f"a photo of one real {word} {noun}",
                f"a photo of {with_article(word)} {noun}",
                f"a photo of one real {noun} who is {word}",
            ]


@dataclass(frozen=True, slots=True)
class Trait:
    """Something a person shows or not, and how both are said after the words "a photo of a person", or as a whole."""

    present: tuple[str, ...]
    absent: tuple[str, ...]


def _worn(name: str, *others: str, instead: tuple[str, ...] = ()) -> Trait:
    present = (f"wearing {name}", f"with {name}", *others)
    return Trait(
        present,
        (
            f"without {name}",
            f"not wearing {name}",
            f"wearing no {name.removeprefix('a ')}",
            *instead,
        ),
    )


TRAITS: Mapping[str, Trait] = {
    "turban": _worn("a turban"),
    "hat": _worn("a hat"),
    "sombrero": _worn("a sombrero"),
    "beard": Trait(("with a beard", "who has a beard"), ("without a beard", "who has no beard", "clean shaven")),
    "moustache": Trait(
        ("with a moustache", "with a mustache", "who has a mustache"),
        ("without a moustache", "without a mustache", "who has no mustache"),
    ),
    "old": Trait(
        ("who is old", "a photo of an old person", "a photo of an old person"),
        (
            "who is young",
            "a photo of a young person",
            "a photo of a young person",
            "who is not old",
        ),
    ),
    "traditional clothes": _worn(
        "traditional clothes",
        "wearing traditional clothing",
        "in traditional clothes",
        instead=("wearing modern clothes", "wearing modern clothes"),
    ),
    "vibrant colourful clothes": _worn(
        "vibrant colourful clothes",
        "wearing vibrant colorful clothes",
        "wearing vibrant color clothes",
        instead=("wearing plain clothes", "wearing plain clothes"),
    ),
    "embroidered clothing": _worn(
        "embroidered clothing",
        "in embroidered clothing",
        "wearing embroidered clothes",
        instead=("wearing plain clothing", "wearing plain clothing"),
    ),
    "forehead mark": Trait(
        ("with a bindi", "with a tilak", "with a tilak or bindi", "with a bindi on the forehead"),
        (
            "without a bindi",
            "without a tilak",
            "without a tilak or bindi",
            "with no bindi on the forehead",
        ),
    ),
    "eye glasses": _worn("eye glasses", "wearing glasses", "with glasses"),
    "earphone": _worn("an earphone"),
}
"""Keys are those of the world files, and two more."""


def descriptions(scene: Scene) -> Sequence[str]:
    """Everything that can be said about the main person after the noun."""
    person = scene.people[0]
    said = [PLACE_PHRASES[scene.place]] * 2
    if person.headwear != "none":
        said += [f"wearing {with_article(person.headwear)}"] * 2
    if person.headwear == "sombrero":
        said.append("wearing a hat")
    if person.facial_hair != "none":
        said += [f"with a {person.facial_hair}"] * 2
    if person.held != "none":
        said += [f"{verb} {with_article(person.held)}" for verb in ("holding", "with")]
    said += _said_of_clothes(person) + _said_of_face(person)
    return said


def _said_of_clothes(person: Person) -> list[str]:
    garment = person.garment
    if garment.endswith(("clothes", "clothing")):
        return [f"wearing {garment}"] * 2
    if garment in ("scrubs", "shirt and tie"):
        return [f"wearing {garment if garment == 'scrubs' else 'a shirt and tie'}", "with a tie"][
            : 1 + ("tie" in garment)
        ]
    if garment in ("white coat", "safety vest"):
        return [f"wearing a {garment}"]
    return [
        f"wearing {with_article(f'{person.garment_colour} {garment}')}",
        f"wearing {with_article(garment)}",
    ]


def _said_of_face(person: Person) -> list[str]:
    said = []
    if person.eye_glasses:
        said += ["with eye glasses", "wearing glasses"]
    if person.earphone:
        said.append("with an earphone")
    if person.forehead_mark:
        said += ["with a bindi on the forehead", "with a tilak"]
    if person.mood != "neutral":
        said.append({"smile": "smiling", "frown": "frowning", "tears": "crying"}[person.mood])
    if person.headwear == "none":
        said.append("with no hat")
        if person.hair_style == "bald":
            said.append("with a bald head")
        elif person.age != "old":
            said.append(f"with {person.hair_style} {person.hair_colour} hair")
    if person.facial_hair == "none" and person.gender == "man":
        said.append("without a beard")
    return said


def describe(scene: Scene, rng: random.Random, *, gendered: bool | None = None) -> str:
    """A caption of one drawn scene; names the gender in most cases, or as told."""
    if scene.kind != "one":
        return _describe_other(scene, rng)
    person = scene.people[0]
    gendered = rng.random() < 0.75 if gendered is None else gendered
    variant = ("feminine" if person.gender == "woman" else "masculine") if gendered else "neutral"
    noun = rng.choices(NOUNS[variant], (4, 2, 1)[: len(NOUNS[variant])])[0]
    if person.age != "adult" and rng.random() < 0.35:
        noun = f"{person.age} {noun}"
    elif rng.random() < 0.12:
        noun = f"{person.skin} skinned {noun}"
    said = list(
        dict.fromkeys(rng.sample(sorted(descriptions(scene)), rng.choices((0, 1, 2, 3), (0.25, 0.4, 0.25, 0.1))[0]))
    )
    start = rng.choice(("a photo of ", "a photo of ", "a photo of ", "A photo of one real ", "a portrait of ", ""))
    subject = noun if start.endswith("real ") else with_article(noun)
    return " ".join([start + subject, *said])


def _describe_other(scene: Scene, rng: random.Random) -> str:
    where = rng.choice(("", f" {PLACE_PHRASES[scene.place]}"))
    start = rng.choice(("a photo of ", "a photo of ", ""))
    if scene.kind == "none":
        said = ("an empty place", "nobody", "no person", "no people", "a place without people")
        return start + rng.choice(said) + (where or f" {PLACE_PHRASES[scene.place]}")
    if scene.kind == "two":
        genders = [person.gender for person in scene.people]
        pair = {
            0: "two men",
            1: rng.choice(("a woman and a man", "a man and a woman")),
            2: "two women",
        }
        return start + rng.choice((pair[genders.count("woman")], "two people", "multiple people")) + where
    noun = with_article(rng.choice((scene.people[0].gender, "person")))
    return start + noun + rng.choice((" seen from behind", " from behind")) + where
