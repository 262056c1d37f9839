"""Search for a language model's prompts that CLIP finds nearest to images (StOP, OASIS eq. 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pytest_t2i import NextTokens, T2IError, TextEncoder

from pytest_t2i_origins.languages import checked_tokens

START = "This is a photo of"
"""Beginning of every prompt (OASIS 3.3)."""
STOPS = (".", "!", "?")
"""Signs that end a sentence: some language models rarely end the text after one."""

TOKENS, SENTENCE_TOKENS = 2, 12
"""Tokens added to the beginning: as in OASIS 3.3, and at most in a sentence."""
SENTENCE_LIKELY = 0.05
"""Smallest probability of a token in a sentence."""
BEAM, WIDTH, TOP = 24, 64, 10
"""Prompts kept at each token, tokens offered for each prompt, prompts returned."""


@dataclass(frozen=True, slots=True)
class Search:
    """The settings of the search for prompts."""

    tokens: int = TOKENS
    """Number of tokens added to the beginning; for whole sentences, the largest number."""
    beam: int = BEAM
    """Number of prompts that are kept at each token."""
    width: int = WIDTH
    """Number of tokens that the language model offers for each prompt."""
    top: int = TOP
    """Number of prompts that are returned."""
    likely: float = 0.0
    """Smallest probability of a token, in [0, 1); with 0, prompts are word lists rather than
    phrases."""
    sentences: bool = False
    """Whether only whole sentences are returned, of up to ``tokens`` tokens."""
    start: str = START

    def __post_init__(self) -> None:
        for name in ("tokens", "beam", "width", "top"):
            check_count(name, getattr(self, name))
        if not 0.0 <= self.likely < 1.0:
            raise T2IError(
                f"likely is a probability of at least 0 and below 1, got likely={self.likely!r}"
            )


def check_count(name: str, count: object) -> None:
    """Raise T2IError for anything but a whole number of at least 1."""
    if not isinstance(count, int) or count < 1:
        raise T2IError(f"{name} is a whole number from 1 on, got {count!r}")


def chosen_search(
    *,
    sentences: bool = False,
    tokens: int | None = None,
    likely: float | None = None,
    beam: int = BEAM,
    width: int = WIDTH,
    top: int = TOP,
) -> Search:
    """Return a search with the defaults of the paper, or those for sentences.

    >>> chosen_search().tokens, chosen_search(sentences=True).tokens
    (2, 12)
    """
    usual = (SENTENCE_TOKENS, SENTENCE_LIKELY) if sentences else (TOKENS, 0.0)
    tokens = usual[0] if tokens is None else tokens
    likely = usual[1] if likely is None else likely
    return Search(tokens, beam, width, top, likely, sentences)


@dataclass(frozen=True, slots=True)
class OptimisedPrompt:
    """A prompt and its similarity to a cluster's images."""

    text: str
    similarity: float
    """Mean cosine over the images (OASIS eq. 8)."""


def optimised_prompts(
    language: NextTokens, encoder: TextEncoder, features: np.ndarray, search: Search
) -> tuple[OptimisedPrompt, ...]:
    """Return the prompts that CLIP finds nearest to images, the best first (OASIS eq. 8).

    The search is a beam search.

    ``features`` are unit rows, so the mean cosine is the product with their mean, and all
    candidates of a token are scored at once. Raises T2IError where the language model
    offers no token or ends no sentence in time.
    """
    centre = features.mean(axis=0)
    texts, sentences = [search.start], dict[str, None]()
    for _ in range(search.tokens):
        longer, ended = _continued(language, texts, search)
        sentences |= ended
        if not longer and texts == [search.start]:
            raise T2IError(
                f"the language model offers no {_likely(search)}readable token after "
                f"{search.start!r}: choose another with --llm"
            )
        if not longer:
            break
        best = _nearest(longer, encoder, centre, max(search.beam, search.top))
        texts = [prompt.text for prompt in best]
    if not search.sentences:
        return tuple(best[: search.top])
    # The last texts may be whole sentences, too.
    sentences |= _continued(language, texts, search)[1]
    sentences.pop(search.start, None)
    if not sentences:
        raise T2IError(
            f"the language model ends no sentence within {search.tokens} {_likely(search)}tokens: "
            "allow more tokens, or search without sentences"
        )
    return tuple(_nearest(list(sentences), encoder, centre, search.top))


def _continued(
    language: NextTokens, texts: Sequence[str], search: Search
) -> tuple[list[str], dict[str, None]]:
    """Return the longer texts to continue, and the whole sentences among old and new texts."""
    longer, sentences = dict[str, None](), dict[str, None]()
    rows = checked_tokens(language, texts, search.width)
    for text, tokens in zip(texts, rows, strict=True):
        for token in tokens:
            if token.probability < search.likely:
                continue
            stops = search.sentences and token.text.endswith(STOPS)
            (sentences if stops or token.text == text else longer)[token.text] = None
    return list(longer), sentences


def _nearest(
    texts: list[str], encoder: TextEncoder, centre: np.ndarray, count: int
) -> list[OptimisedPrompt]:
    scores = unit_rows(encoder.encode_text(texts)) @ centre
    order = np.argsort(-scores, kind="stable")[:count]
    return [OptimisedPrompt(texts[k], float(scores[k])) for k in order]


def _likely(search: Search) -> str:
    return f"(at {search.likely:g} or more) likely " if search.likely else ""


def unit_rows(features: np.ndarray) -> np.ndarray:
    """Return rows scaled to unit length; rows of zeros stay."""
    plain = np.asarray(features, dtype=np.float64)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    return np.asarray(plain / np.where(lengths > 0, lengths, 1.0))
