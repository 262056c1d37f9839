"""What can vary in a drawn scene: the vocabulary of attributes and the records that hold one choice of each."""

from __future__ import annotations

from dataclasses import dataclass

GENDERS = ("woman", "man")
AGES = ("young", "adult", "old")
SKINS = ("pale", "light", "tan", "brown", "dark", "deep")
HAIR_COLOURS = ("black", "brown", "blond", "red")
HAIR_STYLES = ("long", "bob", "short", "bald")
FACIAL_HAIR = ("none", "moustache", "beard")
MOODS = ("neutral", "smile", "frown", "tears")
HEADWEAR = (
    "none", "hat", "cap", "hard hat", "nurse cap", "chef hat", "turban", "sombrero", "hijab", "helmet", "police cap",
)  # fmt: skip
HELD = (
    "none", "cigar", "pen", "desktop", "cleaner", "book", "cup", "camera", "microphone", "flower", "dumbbell",
    "wrench", "palette", "letter", "laptop", "ball",
)  # fmt: skip
GARMENTS = (
    "shirt", "dress", "suit", "shirt and tie", "white coat", "scrubs", "apron", "uniform", "safety vest", "robe",
    "hoodie", "tank top", "traditional clothes", "vibrant colourful clothes", "embroidered clothing",
)  # fmt: skip
COLOURS = (
    "red",
    "orange",
    "yellow",
    "green",
    "teal",
    "blue",
    "purple",
    "pink",
    "brown",
    "white",
    "grey",
    "black",
)
PLACES = (
    "bus station", "gym", "office", "beach", "park", "school campus", "library", "hospital", "museum", "mall",
    "kitchen", "street", "classroom", "workshop", "stage", "studio",
)  # fmt: skip
SCENES = ("one", "none", "two", "behind")


@dataclass(frozen=True, slots=True)
class Person:
    """Everything that is decided about one person before a line is drawn. Each value is a member of its tuple above."""

    gender: str
    """Gender presentation: sets face shape, brows, lips, shoulders and the cut of the garment."""
    age: str = "adult"
    skin: str = "tan"
    hair_colour: str = "black"
    """Natural colour; old people are drawn grey whatever it is."""
    hair_style: str = "short"
    facial_hair: str = "none"
    mood: str = "neutral"
    headwear: str = "none"
    eye_glasses: bool = False
    earphone: bool = False
    forehead_mark: bool = False
    """A tilak or bindi."""
    garment: str = "shirt"
    garment_colour: str = "blue"
    """Ignored by garments that have colours of their own (white coat, safety vest, traditional clothes, ...)."""
    held: str = "none"


@dataclass(frozen=True, slots=True)
class Scene:
    """What is in one picture."""

    kind: str
    """``one`` person facing us, ``none``, ``two``, or one seen from ``behind``."""
    place: str
    people: tuple[Person, ...]
    """The main person first; empty when kind is ``none``."""
    backdrop: str = "grey"
    """Wall colour of the place ``studio``; ignored elsewhere."""
    second_area: float = 1.0
    """For ``two``: how large the second person is drawn, as a share of the first one's area."""
