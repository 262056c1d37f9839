"""What each switch gains on a GPU: pipelines of random weights, in the shapes of SDXL, SD3, FLUX.

Against the plain loop (batch 1, as a user writes it, in the number format of the model) stand rows
that add one switch each: full batches, attention by SDPA instead of plain products, the decoder on
whole batches, fused projections, and regional torch.compile with its time and the images after
which it has paid. No pipeline can beat the bare denoiser in a loop, at its best batch. The texts
are embeddings of random numbers: encoders are not measured, as a run encodes each text once. FLUX
needs 50 GB of main memory while it is built.

    python tests/benchmarks/gpu.py --pixels 512 --steps 20     # a GPU with 80 GB for all three
    python tests/benchmarks/gpu.py --small                     # a processor: whether it runs
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from diffusers import (
    AutoencoderKL,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    FluxPipeline,
    FluxTransformer2DModel,
    SD3Transformer2DModel,
    StableDiffusion3Pipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)
from torch.nn.attention import SDPBackend, sdpa_kernel

LATENT_SIDE = 8
"""Pixels that one latent stands for, along a side."""
TOKENS = {"sdxl": 77, "sd3": 333, "flux": 512}
OF_FLOWS = {"use_quant_conv": False, "use_post_quant_conv": False, "shift_factor": 0.06}
BLOCKS = ("BasicTransformerBlock", "JointTransformerBlock", "FluxTransformerBlock",
          "FluxSingleTransformerBlock")  # fmt: skip
"""What regional compilation compiles once for all its copies."""


@dataclass
class Shape:
    """One family."""

    name: str
    dtype: torch.dtype
    build: Callable[[bool], Any]
    """Makes the pipeline; small where it is told so."""
    texts: Callable[[Any, int], dict[str, torch.Tensor]]
    """Embeddings for so many images."""


def autoencoder(channels: int, *, small: bool, **config: Any) -> AutoencoderKL:
    """The decoder that all three share but for its latents."""
    widths = (8, 8, 16, 16) if small else (128, 256, 512, 512)
    return AutoencoderKL(
        block_out_channels=widths, layers_per_block=1 if small else 2, latent_channels=channels,
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
        norm_num_groups=4 if small else 32, **config,
    )  # fmt: skip


def sdxl(small: bool) -> Any:
    """2.6 thousand million parameters."""
    depth = (1, 1, 1) if small else (1, 2, 10)
    unet = UNet2DConditionModel(
        sample_size=128, in_channels=4, out_channels=4,
        block_out_channels=(16, 32, 32) if small else (320, 640, 1280),
        layers_per_block=1 if small else 2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        transformer_layers_per_block=depth, attention_head_dim=(2, 2, 2) if small else (5, 10, 20),
        cross_attention_dim=32 if small else 2048, use_linear_projection=True,
        addition_embed_type="text_time", addition_time_embed_dim=8 if small else 256,
        projection_class_embeddings_input_dim=6 * 8 + 16 if small else 2816,
        norm_num_groups=4 if small else 32,
    )  # fmt: skip
    return StableDiffusionXLPipeline(
        vae=autoencoder(4, small=small), text_encoder=None, text_encoder_2=None, tokenizer=None,
        tokenizer_2=None, unet=unet, add_watermarker=False,
        scheduler=EulerDiscreteScheduler(beta_schedule="scaled_linear"),
    )  # fmt: skip


def sd3(small: bool) -> Any:
    """2 thousand million parameters, as SD3 medium."""
    transformer = SD3Transformer2DModel(
        sample_size=128, patch_size=2, in_channels=16, out_channels=16,
        num_layers=2 if small else 24,
        attention_head_dim=8 if small else 64, num_attention_heads=2 if small else 24,
        joint_attention_dim=32 if small else 4096, caption_projection_dim=16 if small else 1536,
        pooled_projection_dim=16 if small else 2048, pos_embed_max_size=192,
    )  # fmt: skip
    return StableDiffusion3Pipeline(
        transformer=transformer, scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=autoencoder(16, small=small, **OF_FLOWS),
        text_encoder=None, tokenizer=None, text_encoder_2=None, tokenizer_2=None,
        text_encoder_3=None, tokenizer_3=None,
    )  # fmt: skip


def flux(small: bool) -> Any:
    """12 thousand million parameters, as FLUX.1."""
    transformer = FluxTransformer2DModel(
        in_channels=64, num_layers=1 if small else 19, num_single_layers=1 if small else 38,
        attention_head_dim=16 if small else 128, num_attention_heads=2 if small else 24,
        joint_attention_dim=32 if small else 4096, pooled_projection_dim=16 if small else 768,
        axes_dims_rope=(4, 6, 6) if small else (16, 56, 56),
    )  # fmt: skip
    return FluxPipeline(
        transformer=transformer, scheduler=FlowMatchEulerDiscreteScheduler(),
        vae=autoencoder(16, small=small, **OF_FLOWS),
        text_encoder=None, tokenizer=None, text_encoder_2=None, tokenizer_2=None,
    )  # fmt: skip


def texts_of(name: str, *widths: tuple[int, int]) -> Callable[[Any, int], dict[str, torch.Tensor]]:
    """Random embeddings: (width, pooled width) of the small and of the true pipeline."""

    def made(pipe: Any, count: int) -> dict[str, torch.Tensor]:
        part = pipe.components.get("transformer") or pipe.unet
        wide = getattr(part.config, "joint_attention_dim", None) or part.config.cross_attention_dim
        pooled = dict(widths)[wide]
        like = {"device": part.device, "dtype": part.dtype}
        texts = {
            "prompt_embeds": torch.randn(count, TOKENS[name], wide, **like),
            "pooled_prompt_embeds": torch.randn(count, pooled, **like),
        }
        if name == "flux":
            return texts
        return texts | {f"negative_{key}": torch.zeros_like(value) for key, value in texts.items()}

    return made


SHAPES = (
    Shape("sdxl", torch.float16, sdxl, texts_of("sdxl", (32, 16), (2048, 1280))),
    Shape("sd3", torch.float16, sd3, texts_of("sd3", (32, 16), (4096, 2048))),
    Shape("flux", torch.bfloat16, flux, texts_of("flux", (32, 16), (4096, 768))),
)


class Bench:
    """One pipeline and how it is called."""

    def __init__(self, shape: Shape, asked: argparse.Namespace, device: str) -> None:
        self.shape, self.asked, self.device = shape, asked, device
        self.pipe = shape.build(asked.small)
        self.pipe.set_progress_bar_config(disable=True)
        self.denoiser = self.pipe.components.get("transformer") or self.pipe.unet

    def to(self, dtype: torch.dtype) -> None:
        """Onto the device, in a number format."""
        self.pipe.to(self.device, dtype)

    def make(self, count: int) -> None:
        """One batch."""
        generators = [torch.Generator("cpu").manual_seed(seed) for seed in range(count)]
        with torch.inference_mode():
            self.pipe(
                **self.shape.texts(self.pipe, count), generator=generators,
                height=self.asked.pixels, width=self.asked.pixels,
                num_inference_steps=self.asked.steps, guidance_scale=5.0,
            )  # fmt: skip

    def bare(self, count: int) -> Callable[[], None]:
        """The denoiser alone: as often, and with what the pipeline gave it."""
        given: list[tuple[Any, Any]] = []
        hook = self.denoiser.register_forward_pre_hook(
            lambda _, args, kwargs: given.append((args, kwargs)), with_kwargs=True
        )
        self.make(count)
        hook.remove()
        args, kwargs = given[0]

        def loop() -> None:
            with torch.inference_mode():
                for _ in range(len(given)):
                    self.denoiser(*args, **kwargs)

        return loop

    def rate(self, loop: Callable[[], None], count: int) -> float:
        """Images per second: the median of the rounds, after one that is not counted."""
        loop()
        took = [self.seconds(loop) for _ in range(self.asked.rounds)]
        return count / statistics.median(took)

    def seconds(self, loop: Callable[[], None]) -> float:
        """Of one round, until the GPU is done."""
        self.wait()
        started = time.perf_counter()
        loop()
        self.wait()
        return time.perf_counter() - started

    def wait(self) -> None:
        """For the GPU."""
        if self.device != "cpu":
            torch.cuda.synchronize()

    def best_batch(self) -> tuple[int, float]:
        """Doubled until the bare denoiser gains less than 5 %, or memory ends."""
        best = (1, self.rate(self.bare(1), 1))
        while best[0] < self.asked.most:
            count = best[0] * 2
            try:
                rate = self.rate(self.bare(count), count)
            except torch.OutOfMemoryError:
                break
            if rate < 1.05 * best[1]:
                break
            best = (count, rate)
        return best

    def compile(self, batch: int) -> float:
        """Compile the repeated blocks; the seconds that this took."""
        for block in self.denoiser.modules():
            if type(block).__name__ in BLOCKS:
                block.compile(backend="eager" if self.device == "cpu" else "inductor")
        return self.seconds(lambda: self.make(batch))


PLAIN, BARE = "plain loop, batch 1", "bare denoiser"


@contextmanager
def plain_attention() -> Iterator[None]:
    """Attention by products of whole matrices."""
    with sdpa_kernel(SDPBackend.MATH):
        yield


def measured(bench: Bench) -> Iterator[tuple[str, float, str]]:
    """Row -> images per second, and a remark."""
    if bench.shape.name != "flux":
        bench.to(torch.float32)
        yield "float32, batch 1", bench.rate(lambda: bench.make(1), 1), ""
    bench.to(torch.float32 if bench.device == "cpu" else bench.shape.dtype)
    yield PLAIN, bench.rate(lambda: bench.make(1), 1), ""
    batch, bare = bench.best_batch()
    yield f"{BARE}, batch {batch}", bare, ""
    bench.pipe.vae.enable_slicing()

    def make() -> None:
        bench.make(batch)

    for name, within in (("plain attention", plain_attention()), ("SDPA", nullcontext())):
        with within:
            yield f"batch {batch}, {name}", bench.rate(make, batch), ""
    bench.pipe.vae.disable_slicing()
    yield "+ decoder on whole batches", bench.rate(make, batch), ""
    bench.denoiser.fuse_qkv_projections()
    fused = bench.rate(make, batch)
    yield "+ fused projections", fused, ""
    took = bench.compile(batch)
    compiled = bench.rate(make, batch)
    gain = 1 / fused - 1 / compiled
    paid = f"pays after {took / gain:.0f} images" if gain > 0 else "does not pay"
    yield "+ regional compile", compiled, f"{took:.0f} s to compile, {paid}"


def main() -> None:
    """Print a table for each shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", default="sdxl,sd3,flux")
    parser.add_argument("--pixels", type=int, default=512)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=int, default=64, help="images of a batch, at most")
    parser.add_argument("--small", action="store_true", help="tiny pipelines, on a processor")
    asked = parser.parse_args()
    if asked.small:
        asked.pixels, asked.steps, asked.rounds, asked.most = 64, 2, 1, 2
    elif not torch.cuda.is_available():
        raise SystemExit("gpu.py: there is no CUDA device: give --small, which only runs it")
    device = "cpu" if asked.small else "cuda"
    named = "a processor, tiny pipelines" if asked.small else torch.cuda.get_device_name()
    print(f"{named}, {asked.pixels} px, {asked.steps} steps, torch {torch.__version__}")
    for shape in SHAPES:
        if shape.name not in asked.shapes.split(","):
            continue
        bench = Bench(shape, asked, device)
        count = sum(p.numel() for p in bench.denoiser.parameters()) / 1e9
        print(f"\n{shape.name}: {count:.2f} thousand million parameters, {shape.dtype} on a GPU")
        print("| | images/s | against the plain loop | share of the bare denoiser | |")
        print("|---|---|---|---|---|")
        rows = list(measured(bench))
        plain = next(rate for name, rate, _ in rows if name == PLAIN)
        bare = next(rate for name, rate, _ in rows if name.startswith(BARE))
        for name, rate, remark in rows:
            print(f"| {name} | {rate:.2f} | {rate / plain:.2f} | {rate / bare:.0%} | {remark} |")
        del bench
        if device == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
