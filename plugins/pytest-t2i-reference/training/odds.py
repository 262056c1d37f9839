"""Fits how the share of men of each word answers to moving its row, from counts of several rounds.

The model is a logistic regression. Log-odds of a picture are those of its word, plus the word's response times how far
its row was moved, plus a part that its noise brings along whatever the word. That part is known for each picture, so
it takes some of the chance out of the shares; whoever a word shows by its own account remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

STRAY = 0.25
"""How far log-odds of words stray from what is planted, before any is measured and unless more is known."""
RESPONSE, RESPONSE_STRAY = 1.5, 0.4
"""Log-odds by which moving a row by one unit changes a word, before it is measured, and how far words differ in it."""
NOISE_PENALTY = 300.0
LOGISTIC_VARIANCE = 2.9
"""About that of the normal distribution nearest to the logistic one: Gaussian noise on log-odds flattens shares."""
SURE = 0.005
LEAST_SPREAD = 0.015
"""How far words differ at least in what CLIP sees and the probe does not."""
FARTHEST = 1.5
"""No row is moved by more units."""


@dataclass(frozen=True, slots=True)
class Round:
    """What was counted with rows moved in one way."""

    words: NDArray[np.int64]
    """[n] indices of concepts."""
    moved: NDArray[np.float64]
    """[n] how far the row of each was moved, in units."""
    men: NDArray[np.bool_]
    """[n, images]"""
    noise: NDArray[np.float32]
    """[n, images, cells] what the pictures started from."""
    seen: NDArray[np.bool_] | None = None
    """[n, images] the men that CLIP sees in the finished pictures, where that was asked."""


@dataclass(frozen=True, slots=True)
class Odds:
    """The fit: log-odds of a word whose row is not moved, and how they answer; [concepts] each."""

    base: NDArray[np.float64]
    response: NDArray[np.float64]


def fit_odds(
    rounds: Sequence[Round], planted: NDArray[np.float64], stray: float = STRAY, expected_response: float = RESPONSE
) -> Odds:
    """The most likely log-odds and responses, given all rounds and what was expected before (a MAP estimate).

    ``stray`` is how far log-odds of words may be from the planted ones, ``expected_response`` by how much they change
    for one unit.
    """
    men, words, moved, noise = _stacked(rounds)
    expected = torch.from_numpy(_log_odds(planted)).float()
    sizes = (len(planted), 1, len(planted), 1, noise.shape[1])
    fitted = tuple(torch.zeros(size, requires_grad=True) for size in sizes)
    base, base_of_all, response, response_of_all, weights = fitted
    search = torch.optim.LBFGS(fitted, max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        flattened = torch.sqrt(1 + (weights**2).sum() / LOGISTIC_VARIANCE)
        own = (expected + base_of_all + base)[words] + (expected_response + response_of_all + response)[words] * moved
        unlikely = functional.binary_cross_entropy_with_logits(own * flattened + noise @ weights, men, reduction="sum")
        strayed = (base**2).sum() / stray**2 + (response**2).sum() / RESPONSE_STRAY**2 + response_of_all**2
        total = unlikely + (strayed.sum() + NOISE_PENALTY * (weights**2).sum()) / 2
        total.backward()  # type: ignore[no-untyped-call]
        return total

    search.step(loss)  # type: ignore[no-untyped-call]
    found = (expected + base_of_all + base, expected_response + response_of_all + response)
    return Odds(*(part.detach().double().numpy() for part in found))


def misjudged(rounds: Sequence[Round], count: int) -> NDArray[np.float64]:
    """By how much the share of men that CLIP sees exceeds the counted one, for each of ``count`` concepts.

    Both are of the same pictures, so few are enough. Differences are shrunk to their mean as far as chance explains
    them (empirical Bayes); concepts that no round showed to CLIP have none.
    """
    shown = [counted for counted in rounds if counted.seen is not None]
    pictures, total, squares = np.zeros(count), np.zeros(count), 0.0
    for counted in shown:
        differences = counted.seen.astype(float) - counted.men  # type: ignore[union-attr]
        np.add.at(pictures, counted.words, differences.shape[1])
        np.add.at(total, counted.words, differences.sum(1))
        squares += float((differences**2).sum())
    open_ = pictures > 0
    if not open_.any():
        return total
    mean, chance = total[open_] / pictures[open_], squares / pictures.sum() / pictures[open_]
    spread = max(LEAST_SPREAD**2, float(mean.var() - chance.mean()))
    total[open_] = mean.mean() + (mean - mean.mean()) * spread / (spread + chance)
    return total


def next_move(odds: Odds, planted: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far to move each row so that the planted shares come out; 0 for words that are sure to be of one gender."""
    wanted = (_log_odds(planted) - odds.base) / np.maximum(odds.response, 0.3)
    return np.where(open_words(planted), np.clip(wanted, -FARTHEST, FARTHEST), 0.0)


def open_words(planted: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which planted shares are not so near to 0 or 1 that nothing could push them further."""
    return (planted > SURE) & (planted < 1 - SURE)


def _stacked(rounds: Sequence[Round]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Men, words, moves and noise of all pictures of all rounds."""
    men = np.concatenate([counted.men.ravel() for counted in rounds]).astype(np.float32)
    words = np.concatenate([np.repeat(counted.words, counted.men.shape[1]) for counted in rounds])
    moved = np.concatenate([np.repeat(counted.moved, counted.men.shape[1]) for counted in rounds]).astype(np.float32)
    noise = np.concatenate([counted.noise.reshape(counted.men.size, -1) for counted in rounds])
    return torch.from_numpy(men), torch.from_numpy(words), torch.from_numpy(moved), torch.from_numpy(noise).float()


def _log_odds(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    within = np.clip(shares, SURE, 1 - SURE)
    logits: NDArray[np.float64] = np.log(within / (1 - within))
    return logits
