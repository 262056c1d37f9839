"""Stage ``latents``: everything the denoiser reads, encoded once: drawings to latents, captions to text states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from diffusers import AutoencoderKL
from torch import Tensor
from transformers import CLIPModel, CLIPTokenizer

from pytest_t2i_reference.captions import VARIANTS, concept_prompts
from pytest_t2i_reference.worlds import load_concepts
from training.autoencoder import as_pixels, training_indices
from training.drawings import Drawings, Record
from training.families import GENDER_TEXTS
from training.progress import Progress
from training.settings import mixed_precision
from training.towers import tokenize

CHUNK = 64
UNSET_SCALE = 0.18215
"""The scaling factor that diffusers gives to a new autoencoder."""


@dataclass(frozen=True, slots=True)
class Latents:
    """Encoded drawings."""

    mean: Tensor
    """[count, 4, 16, 16], scaled to a standard deviation of one."""
    deviation: Tensor
    """[count, 4, 16, 16]: the encoder's own uncertainty, in the same scale."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Encoded captions."""

    states: Tensor
    """[texts, TOKENS, TEXT_WIDTH], bfloat16: the last hidden states, as the pipeline gives them to the denoiser."""
    row: Mapping[str, int]
    """Caption to its row."""

    def rows(self, captions: Sequence[str]) -> Tensor:
        """The states of these captions."""
        return self.states[[self.row[caption] for caption in captions]]


@torch.no_grad()
def encode_drawings(drawings: Drawings, model: AutoencoderKL, path: Path) -> None:
    """Encode all drawings, scaled so that latents have a standard deviation of one.

    The model keeps its scaling factor when it has one already: denoisers that go on learning were trained with it.
    """
    progress = Progress("latents", len(drawings.records))
    means, deviations = [], []
    for start in range(0, len(drawings.records), CHUNK):
        with mixed_precision():
            posterior = model.encode(as_pixels(drawings.images[start : start + CHUNK])).latent_dist
        means.append(posterior.mean.float().cpu())
        deviations.append(posterior.std.float().cpu())
        progress.at(start + CHUNK)
    mean, deviation = torch.cat(means), torch.cat(deviations)
    scale = float(model.config.scaling_factor)
    if scale == UNSET_SCALE:
        scale = float(1 / mean[training_indices(len(mean))].std())
        model.register_to_config(scaling_factor=scale)
    torch.save({"mean": mean * scale, "deviation": deviation * scale}, path)


def load_latents(path: Path) -> Latents:
    """Read what ``encode_drawings`` wrote."""
    return Latents(**torch.load(path, weights_only=True))


def all_texts(records: Sequence[Record], more: Iterable[str]) -> list[str]:
    """Every caption a denoiser is trained with, and some more; the empty one first."""
    texts = {"", *more}
    for record in records:
        texts.update(record.captions)
    for concept in load_concepts():
        for variant in VARIANTS:
            texts.update(concept_prompts(concept, variant))
    texts.update(text for texts_of_gender in GENDER_TEXTS for text in texts_of_gender)
    return sorted(texts)


@torch.no_grad()
def encode_captions(records: Sequence[Record], more: Iterable[str], clip: CLIPModel, tokenizer: CLIPTokenizer) -> Texts:
    """Encode all captions."""
    texts = all_texts(records, more)
    states = []
    for start in range(0, len(texts), CHUNK):
        hidden = clip.text_model(input_ids=tokenize(tokenizer, texts[start : start + CHUNK]))
        states.append(hidden.last_hidden_state.bfloat16())
    return Texts(torch.cat(states), {text: index for index, text in enumerate(texts)})
