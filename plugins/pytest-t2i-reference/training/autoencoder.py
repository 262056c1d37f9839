"""Stages ``autoencoder`` and ``decoder``: pictures to 4 x 16 x 16 latents and back."""

from __future__ import annotations

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from training.drawings import Drawings
from training.loop import Loop
from training.settings import Settings, device, mixed_precision

BATCH = 8
FACE_WEIGHT, HELD_WEIGHT = 4.0, 2.0
"""How much more a pixel of the face or of a held object counts than one of the wall."""
KL_WEIGHT = 2e-4
HELD_OUT = 512
"""Every stage leaves out drawings whose index is a multiple of ``len // HELD_OUT``."""


def held_out(count: int) -> NDArray[np.int64]:
    """Indices of the drawings that nothing is trained on."""
    return np.arange(0, count, count // HELD_OUT)[:HELD_OUT]


def training_indices(count: int) -> NDArray[np.int64]:
    """All other indices."""
    return np.setdiff1d(np.arange(count), held_out(count))


def new_autoencoder() -> AutoencoderKL:
    """An untrained autoencoder of about one million weights."""
    widths = (16, 32, 64, 64)
    return AutoencoderKL(
        in_channels=3,
        out_channels=3,
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=widths,
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=8,
        sample_size=128,
    )


def as_pixels(images: NDArray[np.uint8]) -> Tensor:
    """[n, h, w, 3] in 0..255 to [n, 3, h, w] in -1..1."""
    return torch.from_numpy(np.ascontiguousarray(images)).to(device()).permute(0, 3, 1, 2).float() / 127.5 - 1


def pixel_weights(boxes: NDArray[np.uint8]) -> Tensor:
    """[n, 2, 4] boxes to weights [n, 1, 128, 128] with mean 1."""
    weights = torch.ones(len(boxes), 1, 128, 128)
    for row, pair in enumerate(boxes):
        for (left, top, right, bottom), weight in zip(pair.astype(int), (FACE_WEIGHT, HELD_WEIGHT), strict=True):
            region = weights[row, :, top:bottom, left:right]
            region.clamp_(min=weight)
    return (weights / weights.mean()).to(device())


def reconstruction_loss(restored: Tensor, pixels: Tensor, weights: Tensor) -> Tensor:
    """Weighted absolute and squared error, plus the error of edges and of a four times smaller picture."""
    error = restored - pixels
    across = ((error[..., 1:] - error[..., :-1]).abs() * weights[..., 1:]).mean()
    down = ((error[..., 1:, :] - error[..., :-1, :]).abs() * weights[..., 1:, :]).mean()
    coarse = functional.avg_pool2d(error, 4).abs().mean()
    return (weights * error.abs()).mean() + 0.5 * (weights * error**2).mean() + 0.7 * (across + down) + 0.5 * coarse


def train_autoencoder(settings: Settings, drawings: Drawings) -> AutoencoderKL:
    """Encoder and decoder together."""
    torch.manual_seed(settings.seed)
    model = new_autoencoder()
    loop = Loop(settings, "autoencoder", model, 1.4e-3)
    rng = np.random.default_rng(settings.seed + loop.step)
    usable = training_indices(len(drawings.records))
    for _ in loop.steps():
        chosen = np.sort(rng.choice(usable, BATCH))
        pixels, weights = as_pixels(drawings.images[chosen]), pixel_weights(drawings.boxes[chosen])
        if rng.random() < 0.5:
            pixels, weights = pixels.flip(3), weights.flip(3)
        with mixed_precision():
            posterior = model.encode(pixels).latent_dist
            restored = model.decode(posterior.sample()).sample
        divergence = posterior.kl().float().mean() / posterior.mean[0].numel()
        loop.learn(reconstruction_loss(restored.float(), pixels, weights) + KL_WEIGHT * divergence)
    return model


def train_decoder(settings: Settings, drawings: Drawings, model: AutoencoderKL) -> AutoencoderKL:
    """The decoder alone, on latents with a little noise: it must also cope with latents that were generated."""
    torch.manual_seed(settings.seed + 1)
    model.requires_grad_(False)
    model.decoder.requires_grad_(True)
    model.post_quant_conv.requires_grad_(True)
    loop = Loop(settings, "decoder", model, 1e-3, plateau=0.1)
    rng = np.random.default_rng(settings.seed + 1 + loop.step)
    usable = training_indices(len(drawings.records))
    for _ in loop.steps():
        chosen = np.sort(rng.choice(usable, BATCH))
        pixels, weights = as_pixels(drawings.images[chosen]), pixel_weights(drawings.boxes[chosen])
        with mixed_precision():
            with torch.no_grad():
                latents = model.encode(pixels).latent_dist.mean
            noise = torch.rand(BATCH, 1, 1, 1, device=latents.device) * 0.15 / model.config.scaling_factor
            restored = model.decode(latents + noise * torch.randn_like(latents)).sample
        loop.learn(reconstruction_loss(restored.float(), pixels, weights))
    return model


@torch.no_grad()
def psnr(drawings: Drawings, model: AutoencoderKL) -> float:
    """Peak signal-to-noise ratio in dB over held-out drawings."""
    model.eval()
    pixels = as_pixels(drawings.images[held_out(len(drawings.records))[::4]])
    restored = model.decode(model.encode(pixels).latent_dist.mode()).sample.clamp(-1, 1)
    return float(10 * torch.log10(4 / ((restored - pixels) ** 2).mean()))
