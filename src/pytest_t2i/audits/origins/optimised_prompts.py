"""Prompts that a CLIP finds nearest to images, written by a language model (StOP, OASIS eq. 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_t2i.adapters.languages.checked_answers import checked_tokens
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import NextTokens, TextEncoder

START = "This is a photo of"
"""Beginning of every prompt (OASIS 3.3)."""
STOPS = (".", "!", "?")
"""Signs that end a sentence: some language models seldom end a text after one."""

TOKENS, SENTENCE_TOKENS = 2, 12
"""Added to the beginning: as in OASIS 3.3, and of a sentence the most."""
SENTENCE_LIKELY = 0.05
"""Least probability of a token in a sentence."""
BEAM, WIDTH, TOP = 24, 64, 10
"""Prompts kept at each token, tokens offered for each, prompts given in the end."""


@dataclass(frozen=True, slots=True)
class Search:
    """How prompts are looked for."""

    tokens: int = TOKENS
    """How many are added to the beginning; of whole sentences, the most."""
    beam: int = BEAM
    """Prompts that are kept at each token."""
    width: int = WIDTH
    """Tokens that the language model offers for each."""
    top: int = TOP
    """Prompts that are given in the end."""
    likely: float = 0.0
    """Least probability of a token that is tried, in [0, 1): with 0, prompts are heaps of words."""
    sentences: bool = False
    """Only prompts that the language model may end, of any length up to ``tokens``."""
    start: str = START

    def __post_init__(self) -> None:
        for name in ("tokens", "beam", "width", "top"):
            check_count(name, getattr(self, name))
        if not 0.0 <= self.likely < 1.0:
            raise ConfigurationError(
                f"likely is a probability of at least 0 and below 1, got likely={self.likely!r}"
            )


def check_count(name: str, count: object) -> None:
    """ConfigurationError for what is no whole number from 1 on."""
    if not isinstance(count, int) or count < 1:
        raise ConfigurationError(f"{name} is a whole number from 1 on, got {count!r}")


def chosen_search(
    *,
    sentences: bool = False,
    tokens: int | None = None,
    likely: float | None = None,
    beam: int = BEAM,
    width: int = WIDTH,
    top: int = TOP,
) -> Search:
    """A search of which some things are left open: as in the paper, or as sentences need it.

    >>> chosen_search().tokens, chosen_search(sentences=True).tokens
    (2, 12)
    """
    usual = (SENTENCE_TOKENS, SENTENCE_LIKELY) if sentences else (TOKENS, 0.0)
    tokens = usual[0] if tokens is None else tokens
    likely = usual[1] if likely is None else likely
    return Search(tokens, beam, width, top, likely, sentences)


@dataclass(frozen=True, slots=True)
class OptimisedPrompt:
    """A prompt and how near the CLIP finds it to a cluster's images."""

    text: str
    similarity: float
    """Mean cosine over the images (eq. 8)."""


def optimised_prompts(
    language: NextTokens, encoder: TextEncoder, features: np.ndarray, search: Search
) -> tuple[OptimisedPrompt, ...]:
    """Prompts that the CLIP finds nearest to images, by beam search (eq. 8).

    The mean cosine with images of unit features is the product with their mean: all candidates of
    a token are scored at once. Raises ConfigurationError where the language model offers nothing,
    or ends no sentence in time.
    """
    centre = features.mean(axis=0)
    kept, whole = [search.start], dict[str, None]()
    for _ in range(search.tokens):
        longer, ended = _continued(language, kept, search)
        whole |= ended
        if not longer and kept == [search.start]:
            raise ConfigurationError(
                f"the language model offers no {_likely(search)}readable token after "
                f"{search.start!r}: choose another with --llm"
            )
        if not longer:
            break
        best = _nearest(longer, encoder, centre, max(search.beam, search.top))
        kept = [prompt.text for prompt in best]
    if not search.sentences:
        return tuple(best[: search.top])
    # The last ones may be whole, too.
    whole |= _continued(language, kept, search)[1]
    whole.pop(search.start, None)
    if not whole:
        raise ConfigurationError(
            f"the language model ends no sentence within {search.tokens} {_likely(search)}tokens: "
            "allow more, or ask for no sentences"
        )
    return tuple(_nearest(list(whole), encoder, centre, search.top))


def _continued(
    language: NextTokens, texts: Sequence[str], search: Search
) -> tuple[list[str], dict[str, None]]:
    """The longer texts that may go on, and the whole sentences among texts old and new."""
    longer, whole = dict[str, None](), dict[str, None]()
    rows = checked_tokens(language, texts, search.width)
    for text, tokens in zip(texts, rows, strict=True):
        for token in tokens:
            if token.probability < search.likely:
                continue
            stops = search.sentences and token.text.endswith(STOPS)
            (whole if stops or token.text == text else longer)[token.text] = None
    return list(longer), whole


def _nearest(
    texts: list[str], encoder: TextEncoder, centre: np.ndarray, count: int
) -> list[OptimisedPrompt]:
    """The texts nearest to the images, the best first."""
    scores = unit_rows(encoder.encode_text(texts)) @ centre
    order = np.argsort(-scores, kind="stable")[:count]
    return [OptimisedPrompt(texts[k], float(scores[k])) for k in order]


def _likely(search: Search) -> str:
    return f"(at {search.likely:g} or more) likely " if search.likely else ""


def unit_rows(features: np.ndarray) -> np.ndarray:
    """Rows of unit length."""
    plain = np.asarray(features, dtype=np.float64)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    return np.asarray(plain / np.where(lengths > 0, lengths, 1.0))
