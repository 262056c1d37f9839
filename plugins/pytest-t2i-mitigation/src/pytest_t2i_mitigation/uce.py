"""Unified concept editing (UCE): cross-attention edited by the shares that earlier runs found.

Gandikota, Orgad, Belinkov, Materzynska, Bau: Unified Concept Editing in Diffusion Models, WACV
2024. A matrix W of keys or values of cross-attention becomes the solution of eq. 7, with the term
lambda I of the authors' program,

    W' = (sum_E v* c^T + sum_P W c c^T + lambda W) (sum_E c c^T + sum_P c c^T + lambda I)^-1,

where c are embeddings of tokens. E holds the neutral prompts; each has v* = W (c + alpha_f c_f +
alpha_m c_m) (eq. 9), where c_f and c_m belong to its feminine and masculine counterparts. P is the
empty prompt. As in the authors' first program, tokens count from the last word to the end of the
text encoder's length, all matrices of keys and values are edited, and nothing else.

The authors make pictures in a loop, classify them with CLIP, and add desired minus observed share
to each alpha. Here the user closes the loop: each alpha is ``strength`` times the sum of desired
minus observed share over the runs that the key ``runs`` names. The first run is of the plain
model; each further one had the runs before it. The detector of these runs replaces CLIP. The
authors prepend bare attributes to bare concepts ("male doctor"); the texts here are the prompts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

from pytest_t2i import Prompt, T2IError, Variant, counterparts, digest, read_run

if TYPE_CHECKING:
    from pytest_t2i import GenerationSettings

RIDGE = 0.5
"""The weight lambda of the original matrices, as in the authors' program."""
EDITED = ("attn2.to_k", "attn2.to_v")
"""The ends of the names of a UNet's matrices of keys and values of texts."""
_EDITS: WeakKeyDictionary[Any, tuple[tuple[Move, ...], dict[str, Any]]] = WeakKeyDictionary()
"""Pipeline -> the moves of its last edit, and the edited matrices by name."""


class Move(NamedTuple):
    """How far the outputs for one prompt move."""

    text: str
    feminine: str
    masculine: str
    alpha: float
    """The weight alpha_f of the feminine outputs; that of the masculine ones is its negative."""


@dataclass(frozen=True, slots=True)
class UnifiedConceptEditing:
    """A mitigation that edits the network's keys and values of texts, for all prompts at once.

    >>> from pytest_t2i import Mitigation, PipelineMitigation
    >>> isinstance(UnifiedConceptEditing(), Mitigation)
    True
    >>> isinstance(UnifiedConceptEditing(), PipelineMitigation)
    True
    """

    runs: str = ""
    """The run.json files with the observed shares, the plain model's first, separated by commas."""
    share: float = 0.5
    """The desired share of feminine pictures."""
    strength: float = 1.0
    """The factor of desired minus observed share; 0 changes nothing."""
    moves: tuple[Move, ...] = field(default=(), init=False, repr=False, compare=False)
    """The moves of all prompts that the runs name, in their order."""

    name: ClassVar[str] = "uce"
    stage: ClassVar[str] = "weights"
    families: ClassVar[tuple[str, ...]] = ("StableDiffusionPipeline", "StableDiffusionXLPipeline")
    passes: ClassVar[float] = 1.0
    needs_counterparts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Read the runs; raise ValueError for keys that do not make sense, in one line."""
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"share: expected a number from 0 to 1, got {self.share:g}")
        if not 0.0 <= self.strength < math.inf:
            raise ValueError(f"strength: expected a number of at least 0, got {self.strength:g}")
        paths = [path.strip() for path in self.runs.split(",") if path.strip()]
        object.__setattr__(self, "moves", moves_of(paths, self.share, self.strength))

    @property
    def fingerprint(self) -> str:
        """The version, and what was read from the runs."""
        return digest(["1", *map(list, self.moves)])

    def passes_with(self, settings: GenerationSettings) -> float:
        """Return the cost of a picture, 1; raise ValueError where no run was named."""
        del settings
        if not self.moves:
            raise ValueError(
                "runs: expected run.json files, whose shares say how far each prompt moves, got "
                "none: test the model without mitigation first, then name that run, such as "
                "uce:runs=reports/t2i/run.json"
            )
        return self.passes

    @contextmanager
    def applied(self, pipeline: Any, requests: Sequence[Any]) -> Iterator[None]:
        """Give the network edited matrices in this context; they do not depend on the requests.

        Raises T2IError for a network whose matrices are not plain ones, such as with a LoRA.
        """
        del requests
        weights = _weights(pipeline.unet)
        matrices = self._edited(pipeline, weights)
        before = {name: weight.data for name, weight in weights.items()}
        try:
            for name, weight in weights.items():
                weight.data = matrices[name].to(weight.device)
            yield
        finally:
            for name, weight in weights.items():
                weight.data = before[name]

    def _edited(self, pipeline: Any, weights: dict[str, Any]) -> dict[str, Any]:
        """Return the edited matrices by name, which are kept for one edit of a pipeline."""
        last_edit = _EDITS.get(pipeline)
        if last_edit is None or last_edit[0] != self.moves:
            last_edit = _EDITS[pipeline] = (self.moves, edited(pipeline, weights, self.moves))
        return last_edit[1]


def moves_of(paths: Sequence[str], share: float, strength: float) -> tuple[Move, ...]:
    """Return the moves by which ``share`` and the shares of runs differ, summed over the runs.

    Raises ValueError for a run without a neutral prompt that has counterparts and a clear picture.
    """
    pairs: dict[str, tuple[str, str]] = {}
    alphas: dict[str, float] = {}
    for path in paths:
        observed = dict(_observed(path, pairs))
        if not observed:
            raise ValueError(
                f"runs: expected pictures of neutral prompts with counterparts, and {path} has "
                "none that shows a woman or a man"
            )
        for text, part in observed.items():
            alphas[text] = alphas.get(text, 0.0) + strength * (share - part)
    return tuple(Move(text, *pairs[text], alpha) for text, alpha in alphas.items())


def _observed(path: str, pairs: dict[str, tuple[str, str]]) -> Iterator[tuple[str, float]]:
    """Yield each neutral prompt of a run with its share of feminine pictures, and note its pair."""
    for row in read_run(path).prompts:
        female, male = (row.decided.labels.get(label, 0) for label in ("female", "male"))
        if row.variant != Variant.NEUTRAL.value or not female + male:
            continue
        pair = counterparts(Prompt(row.text, row.axis, row.concept))
        if pair:
            pairs[row.text] = pair
            yield row.text, female / (female + male)


def edited(pipeline: Any, weights: dict[str, Any], moves: Sequence[Move]) -> dict[str, Any]:
    """Return the edited matrices by name."""
    import torch

    change = change_of(*_tokens(pipeline, moves)).float()
    with torch.no_grad():
        return {
            name: (weight.float() + weight.float() @ change.to(weight.device)).to(weight.dtype)
            for name, weight in weights.items()
        }


def change_of(moved: Any, toward: Any, kept: Any, ridge: float = RIDGE) -> Any:
    """Return K with W' = W + W K, [d, d]; it solves eq. 7 for every W.

    There is one K for all W, as v* is W times ``toward``.

    Args:
        moved: the embeddings c of E, [tokens, d].
        toward: c + alpha_f c_f + alpha_m c_m of the same tokens, [tokens, d].
        kept: the embeddings of P, [tokens, d].
        ridge: lambda.
    """
    import torch

    spread = moved.T @ moved + kept.T @ kept
    spread = spread + ridge * torch.eye(len(spread), dtype=spread.dtype)
    return torch.linalg.solve(spread, (toward - moved).T @ moved, left=False)


def _weights(network: Any) -> dict[str, Any]:
    """Return the matrices of keys and values of texts by the names of their layers."""
    import torch

    layers = {name: layer for name, layer in network.named_modules() if name.endswith(EDITED)}
    for name, layer in layers.items():
        plain = isinstance(layer, torch.nn.Linear) and layer.weight.is_floating_point()
        if not plain or layer.weight.ndim != 2:  # noqa: PLR2004 - a matrix
            raise T2IError(
                f"uce edits plain matrices of keys and values, but {name} is a "
                f"{type(layer).__name__}: load the model without adapters and not quantized"
            )
    return {name: layer.weight for name, layer in layers.items()}


def _tokens(pipeline: Any, moves: Sequence[Move]) -> tuple[Any, Any, Any]:
    """Return embeddings of the edited tokens, what they move to, and those that are kept.

    Texts of a move are aligned at their last words, and cut to the shortest rest.
    """
    import torch

    moved, toward = [], []
    for text, feminine, masculine, alpha in moves:
        rows = [_from_last_word(pipeline, each) for each in (text, feminine, masculine)]
        shortest = min(map(len, rows))
        neutral, women, men = (row[:shortest] for row in rows)
        moved.append(neutral)
        toward.append(neutral + alpha * (women - men))
    return torch.cat(moved), torch.cat(toward), _embedded(pipeline, "")


def _from_last_word(pipeline: Any, text: str) -> Any:
    tokenizer = pipeline.tokenizer
    ids = tokenizer(text, truncation=True, max_length=tokenizer.model_max_length).input_ids
    # The last token ends the text.
    return _embedded(pipeline, text)[len(ids) - 2 :]


def _embedded(pipeline: Any, text: str) -> Any:
    """Return the embeddings of a text's tokens as the network gets them, [length, d]."""
    import torch

    with torch.no_grad():
        tokens, *_ = pipeline.encode_prompt(
            prompt=text,
            device=pipeline._execution_device,  # noqa: SLF001 - as the pipeline itself does
            num_images_per_prompt=1,
            do_classifier_free_guidance=False,
        )
    return tokens[0].double().cpu()
