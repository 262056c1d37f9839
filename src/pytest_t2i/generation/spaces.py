"""The spaces in which triplets are compared: prompt, denoising, image (Wu section 4.1)."""

from __future__ import annotations

SPACES = ("prompt", "denoising", "image", "ssim")
"""Spaces: text embeddings, final latents, image features, structural similarity of pixels."""
PIXELS = ("ssim", "diff_pix")
"""Spaces that compare pixels."""
ENCODERS = {
    "resnet": "timm:resnet-50",
    "clip": "clip:vit-b-32",
    "dino": "timm:dino-s16",
    "split_product": "timm:dino-b8-patches",
}
"""Space of Wu Table 5 -> encoder of its features, with weights by an alias of the catalogue."""
PAPER = ("prompt", "denoising", "ssim", "diff_pix", *ENCODERS)
"""All spaces of Wu Table 5, in its order."""


def is_space(name: str) -> bool:
    """Whether a name is a space: one listed here, or an encoder such as ``timm:resnet-50``.

    >>> [is_space(name) for name in ("prompt", "dino", "clip:reference", "pixels")]
    [True, True, True, False]
    """
    return name in {*SPACES, *PAPER} or ":" in name


def encoder_of(space: str, default: str) -> str | None:
    """The encoder of a space; the run's encoder for "image"; None for a space without one.

    >>> encoder_of("dino", "clip"), encoder_of("image", "clip"), encoder_of("ssim", "clip")
    ('timm:dino-s16', 'clip', None)
    """
    if space == "image":
        return default
    return ENCODERS.get(space, space if ":" in space else None)


def space_words(space: str) -> str:
    """A space in words, such as ``in prompt space`` or ``by SSIM``.

    >>> space_words("prompt"), space_words("diff_pix"), space_words("dino")
    ('in prompt space', 'by Diff. Pix', 'by dino')
    """
    names = {"ssim": "SSIM", "diff_pix": "Diff. Pix", "split_product": "split-product"}
    return f"in {space} space" if space in SPACES[:3] else f"by {names.get(space, space)}"
