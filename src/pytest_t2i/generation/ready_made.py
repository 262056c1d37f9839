"""Check that a model of existing images has enough images of each prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.identities import NamedComponent
from pytest_t2i.protocols import ReadyMade, TextToImage
from pytest_t2i.sections.words import several

SHOWN = 3
"""Number of prompts named in a message."""


def is_ready_made(handle: NamedComponent[TextToImage]) -> bool:
    return handle.lists_images and isinstance(handle.get(), ReadyMade)


def check_supply(handle: NamedComponent[TextToImage], wanted: Mapping[str, int]) -> list[str]:
    """Notes on how a folder was read, and on prompts with fewer images than requested."""
    model = handle.get() if handle.lists_images else None
    if not isinstance(model, ReadyMade):
        return []
    have = {text: len(model.available(text)) for text in wanted}
    absent = [text for text, count in have.items() if not count]
    if absent:
        raise ConfigurationError(
            f"{handle.name}: expected images of every prompt, got none of {len(absent)} of "
            f"{len(wanted)} prompts, such as "
            f"{_beside_nearest(absent, getattr(model, 'prompts', ()))} Add them to the manifest, "
            f"or deselect these tests with -k.{_in_a_sentence(getattr(model, 'notes', ()))}"
        )
    short = [text for text, count in wanted.items() if have[text] < count]
    notes = list(getattr(model, "notes", ()))
    if not short:
        return notes
    fewest = min(have[text] for text in short)
    if len(short) == 1:
        return [*notes, f"1 prompt has fewer images than requested: {fewest}"]
    return [*notes, f"{len(short)} prompts have fewer images than requested: {fewest} at least"]


def _in_a_sentence(notes: Sequence[str]) -> str:
    return f" ({'; '.join(notes)}.)" if notes else ""


def _beside_nearest(absent: Sequence[str], prompts: Sequence[str]) -> str:
    nearest = {text: _nearest_of(text, prompts) for text in absent[:SHOWN]}
    listed = [
        f"{text!r} (nearest in its manifest: {near!r})" if near else repr(text)
        for text, near in nearest.items()
    ]
    text = f"{', '.join(listed)}."
    if prompts and not any(nearest.values()):
        more = f" and {len(prompts) - SHOWN} more" if len(prompts) > SHOWN else ""
        some = ", ".join(map(repr, prompts[:SHOWN]))
        text += f" Its manifest has {several(len(prompts), 'prompt')}: {some}{more}."
    return text


def _nearest_of(text: str, candidates: Sequence[str]) -> str:
    """The most similar known text, whatever its case; "" where none is similar.

    >>> _nearest_of("a nurse", ["A nurs", "a pilot"])
    'A nurs'
    """
    by_plain = {candidate.casefold(): candidate for candidate in candidates}
    close = get_close_matches(text.casefold(), by_plain, n=1)
    return by_plain[close[0]] if close else ""
