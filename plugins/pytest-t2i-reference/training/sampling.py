"""Makes pictures with the finished pipelines and asks the reference CLIP about them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import CLIPModel, CLIPTokenizer

from training.autoencoder import as_pixels
from training.progress import Progress
from training.settings import device
from training.shipped import open_pipeline
from training.towers import encode_images, encode_texts

BATCH = 32


@dataclass(frozen=True, slots=True)
class Shot:
    """How pictures are made."""

    steps: int
    guidance: float


class Studio:
    """A pipeline and a judge."""

    def __init__(self, pipeline: Path, clip: Path, shot: Shot, dtype: torch.dtype = torch.float32) -> None:
        self.pipeline = open_pipeline(pipeline).to(device(), dtype)
        self.pipeline.set_progress_bar_config(disable=True)
        self.clip = CLIPModel.from_pretrained(clip, dtype=torch.float32).to(device()).eval()
        self.tokenizer = CLIPTokenizer.from_pretrained(clip)
        self.shot = shot
        # The length for the T5 that a flow pipeline lacks, as in the catalogue.
        self.further = {"max_sequence_length": 1} if hasattr(self.pipeline, "transformer") else {}
        self.made, self.seconds = 0, 0.0

    def pictures(self, prompts: Sequence[str], seeds: Sequence[int]) -> Iterator[NDArray[np.uint8]]:
        """Batches of pictures [n, 128, 128, 3], one generator for each picture."""
        progress = Progress("pictures", len(prompts))
        for start in range(0, len(prompts), BATCH):
            began = time.monotonic()
            batch = list(prompts[start : start + BATCH])
            generators = [torch.Generator().manual_seed(seed) for seed in seeds[start : start + BATCH]]
            made = self.pipeline(
                batch,
                generator=generators,
                num_inference_steps=self.shot.steps,
                guidance_scale=self.shot.guidance,
                output_type="np",
                **self.further,
            ).images
            self.made, self.seconds = (
                self.made + len(batch),
                self.seconds + time.monotonic() - began,
            )
            progress.at(start + len(batch))
            yield (made * 255).round().astype(np.uint8)

    def embeddings(self, prompts: Sequence[str], seeds: Sequence[int]) -> Tensor:
        """CLIP embeddings of the pictures, [n, d]."""
        return torch.cat([self.judge(images) for images in self.pictures(prompts, seeds)])

    @torch.no_grad()
    def judge(self, images: NDArray[np.uint8]) -> Tensor:
        """CLIP embeddings of given pictures, [n, d]."""
        return encode_images(self.clip, as_pixels(images))

    @torch.no_grad()
    def answer(self, embeddings: Tensor, texts: Sequence[str]) -> NDArray[np.int64]:
        """For each picture the index of the text that fits best."""
        best: NDArray[np.int64] = (
            (embeddings @ encode_texts(self.clip, self.tokenizer, texts).embedding.T).argmax(1).cpu().numpy()
        )
        return best
