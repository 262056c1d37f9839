"""Tags that give prompts of the same concept in different sentences distinct ids."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from pytest_t2i.data import Prompt, Triplet
from pytest_t2i.prompts import Stereotype

Member = TypeVar("Member", Prompt, Triplet, Stereotype)
Tags = Mapping[tuple[str, str], str]
"""(id without a tag, neutral text) -> tag."""
DIGITS = 4
"""Number of hash digits in a tag, where no single word distinguishes the texts."""


def tags_of(members: Iterable[Prompt | Triplet | Stereotype]) -> dict[tuple[str, str], str]:
    """Return a tag for each prompt that shares its id with a prompt of another text."""
    texts: dict[str, dict[str, None]] = {}
    for member in members:
        prompt = neutral_of(member)
        texts.setdefault(_plain_id(prompt), {})[prompt.text] = None
    return {
        (name, text): tag
        for name, same in texts.items()
        if len(same) > 1
        for text, tag in _tags(list(same)).items()
    }


def tagged(member: Member, tags: Tags) -> Member:
    """Return the member with its prompts tagged; unchanged if its prompt has no tag."""
    prompt = neutral_of(member)
    tag = tags.get((_plain_id(prompt), prompt.text), "")
    if tag == prompt.tag:
        return member
    if isinstance(member, Prompt):
        return replace(member, tag=tag)
    if isinstance(member, Triplet):
        return Triplet(*(replace(variant, tag=tag) for variant in member))
    return replace(member, prompt=replace(prompt, tag=tag))


def neutral_of(member: Prompt | Triplet | Stereotype) -> Prompt:
    if isinstance(member, Triplet):
        return member.neutral
    return member.prompt if isinstance(member, Stereotype) else member


def _plain_id(prompt: Prompt) -> str:
    return replace(prompt, tag="").id if prompt.tag else prompt.id


def _tags(texts: list[str]) -> dict[str, str]:
    """Return each text's tag: its first word that no other text has, else hashes for all texts.

    >>> _tags(["a photo of a nurse", "a sketch of a nurse", "a nurse"])["a photo of a nurse"]
    '~cc89'
    >>> _tags(["a photo of a nurse", "a sketch of a nurse"])["a sketch of a nurse"]
    '~sketch'
    """
    words = {
        text: _own_word(text, [candidate for candidate in texts if candidate != text])
        for text in texts
    }
    if not all(words.values()):
        words = {text: hashlib.sha256(text.encode()).hexdigest()[:DIGITS] for text in texts}
    return {text: f"~{word}" for text, word in words.items()}


def _own_word(text: str, rest: list[str]) -> str:
    """Return the first word of a text that no other text has; "" if there is none."""
    words = {word for candidate in rest for word in _words(candidate)}
    return next((word for word in _words(text) if word not in words), "")


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
