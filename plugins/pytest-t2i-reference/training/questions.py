"""What the reference CLIP is asked about a trait."""

from __future__ import annotations

ATTRIBUTE_TEXTS: dict[str, tuple[str, str]] = {
    "man": ("a photo of a man", "a photo of a woman"),
    "turban": ("a photo of a person wearing a turban", "a photo of a person without a turban"),
    "old": ("a photo of an old person", "a photo of a young person"),
    "traditional clothes": (
        "a photo of a person wearing traditional clothes",
        "a photo of a person wearing modern clothes",
    ),
    "beard": ("a photo of a person with a beard", "a photo of a person without a beard"),
    "moustache": (
        "a photo of a person with a moustache",
        "a photo of a person without a moustache",
    ),
    "forehead mark": ("a photo of a person with a bindi", "a photo of a person without a bindi"),
    "vibrant colourful clothes": (
        "a photo of a person wearing vibrant colourful clothes",
        "a photo of a person wearing plain clothes",
    ),
    "hat": ("a photo of a person wearing a hat", "a photo of a person without a hat"),
    "sombrero": (
        "a photo of a person wearing a sombrero",
        "a photo of a person without a sombrero",
    ),
    "embroidered clothing": (
        "a photo of a person wearing embroidered clothing",
        "a photo of a person wearing plain clothing",
    ),
}
"""Present and absent, as the suites ask for them."""
