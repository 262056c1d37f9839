"""Prompts "content, style" (thesis section 2.5.3): made from two lists, or read from a folder."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_t2i import T2IError, axes, read_text

COMMA = ", "
"""The separator between content and style."""
MOST_BYTES = 1 << 26
"""The largest size of a file of contents or styles."""
LONGEST_NAME = 256
"""The largest length of a file name."""
TOLD = 3
"""The largest number of prompts that a message names."""


class Described(NamedTuple):
    """A prompt with its content and its style."""

    text: str
    content: str
    style: str


def crossed(
    contents: Sequence[str], styles: Sequence[str], per_content: int, seed: int
) -> list[Described]:
    """Return each content with several styles, which are drawn for each content.

    >>> [one.text for one in crossed(["a nurse"], ["sketch"], 1, seed=0)]
    ['a nurse, sketch']
    """
    if per_content > len(styles) or per_content < 1:
        raise T2IError(
            f"expected styles per content from 1 to {len(styles)}, the number of styles, got "
            f"{per_content}"
        )
    return [
        Described(f"{content}{COMMA}{style}", content, style)
        for content in contents
        for style in random.Random(f"{seed}|{content}").sample(list(styles), per_content)  # noqa: S311
    ]


def described(texts: Sequence[str], styles: Sequence[str]) -> list[Described]:
    """Return finished prompts with their contents and styles.

    Without ``styles``, the style is the text after the last comma.

    Raises T2IError for a style that no prompt has, and for a prompt without any of the styles.

    >>> described(["a nurse, with a cup, film noir"], ["film noir"])[0].content
    'a nurse, with a cup'
    """
    found = [_described(text, styles) for text in texts]
    odd = [text for text, one in zip(texts, found, strict=True) if one is None]
    if odd:
        named = ", ".join(map(repr, odd[:TOLD]))
        raise T2IError(
            f"{len(odd)} of {len(texts)} prompts do not end in a comma and a style"
            f"{' of ' + ', '.join(styles) if styles else ''}, such as {named}"
        )
    known = [one for one in found if one is not None]
    if absent := [style for style in styles if style not in {one.style for one in known}]:
        there = ", ".join(sorted({one.style for one in known})[:10])
        raise T2IError(f"unknown style {absent[0]!r}: no prompt has it; there are {there}")
    return known


def _described(text: str, styles: Sequence[str]) -> Described | None:
    if not styles:
        content, comma, style = text.rpartition(COMMA)
        return Described(text, content, style) if comma and content and style else None
    ends = [style for style in styles if text.endswith(f"{COMMA}{style}")]
    if not ends:
        return None
    style = max(ends, key=len)
    return Described(text, text.removesuffix(f"{COMMA}{style}"), style)


def check_counts(kinds: Sequence[str], what: str) -> None:
    """Raise T2IError for a kind of a single picture, and for fewer than two kinds.

    >>> check_counts(["night", "line", "night", "line"], "style")
    """
    counts = Counter(kinds)
    if len(counts) < 2:  # noqa: PLR2004 - one kind cannot be told from others
        raise T2IError(f"expected at least two {what}s, got {', '.join(counts) or 'none'}")
    for name, count in counts.items():
        if count < 2:  # noqa: PLR2004 - no pair of the same kind
            raise T2IError(
                f"expected at least two pictures of each {what}, got one of {name!r}: make more "
                "with --images, or leave it out"
            )


def listed(given: str | None, what: str, default: Sequence[str]) -> list[str]:
    """Return the names of a list with commas, or of a file with one name on each line.

    None stands for the default.

    >>> listed("film noir, sketch", "styles", ())
    ['film noir', 'sketch']
    """
    if given is None:
        return list(default)
    path = Path(given).expanduser()
    is_file = len(given) < LONGEST_NAME and path.is_file()
    names = (
        read_text(path, kind=f"file of {what}", most=MOST_BYTES).split("\n")
        if is_file
        else given.split(",")
    )
    kept = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not kept:
        raise T2IError(
            f"expected {what} as a list with commas or a file with one on each line, got {given!r}"
        )
    return kept


def usual_contents() -> list[str]:
    """Return texts of people (Lyu et al.): "a picture of one person who is a nurse" and so on."""
    people = (axes.profession, axes.activity, axes.personality, axes.object, axes.place)
    texts = [prompt.text for axis in people for prompt in axis.prompts()]
    # The style names the kind of picture, so the content must not say "photo".
    return [text.replace("a photo of one real person", "a picture of one person") for text in texts]


def usual_styles() -> list[str]:
    """Return the 27 art movements of the thesis, as prompts write them."""
    return [prompt.text.rpartition(COMMA)[2] for prompt in axes.style.prompts()]
