"""Any diffusers text-to-image pipeline as the model under test.

Image k depends on request k alone: it has its own noise generator on the CPU, its text is encoded
separately, and on the CPU the arithmetic is arranged so that the rows of a batch do not influence
each other (see ``pipelines.settle``).
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy, deepcopy
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.catalogue import LORA
from pytest_t2i.adapters.devices import (
    DeviceMemory,
    device_memory,
    dtype_name,
    memory_guard,
    own_stream,
    pick_device,
    pick_dtype,
)
from pytest_t2i.adapters.identity import file_digest, folder_digest
from pytest_t2i.adapters.loading import hub_commit, needs
from pytest_t2i.adapters.models.attention import Sums, observed, word_maps, word_tokens
from pytest_t2i.adapters.models.calls import GUIDERS, Calls, pictures_of
from pytest_t2i.adapters.models.modular import is_modular, is_switched_off, module_facts, run_blocks
from pytest_t2i.adapters.models.pipeline_parts import (
    Parts,
    lora_file,
    part_digests,
    pipeline_digest,
)
from pytest_t2i.adapters.models.pipelines import (
    check_processor,
    half_of,
    load_pipeline,
    parts_elsewhere,
    pipeline_folder,
    settle,
)
from pytest_t2i.adapters.models.prompt_embeddings import TextBank, family_of
from pytest_t2i.adapters.models.velocity import WATCHED, VelocityWatch, alike, decoded, kind_of
from pytest_t2i.data import (
    ALL_VELOCITIES,
    ATTENTION,
    EMPTY,
    FINAL_LATENT,
    FORESEEN,
    TEXT_EMBEDDING,
    VELOCITY,
    Generated,
    GenerationSettings,
    Request,
    Trace,
    digest,
    spi_name,
)
from pytest_t2i.errors import ConfigurationError, GenerationError, T2IError
from pytest_t2i.protocols import LoadOptions

with needs("the diffusers adapter", "diffusers"):
    import diffusers
    import torch
    import transformers

if TYPE_CHECKING:
    import numpy as np


def load(options: LoadOptions) -> DiffusersModel:
    """Load a pipeline from the hub or a local folder.

    Args:
        options: ``source`` is a hub id or a folder. ``extra`` may have ``variant`` (file variant
            such as "fp16"), ``scheduler`` (class name in diffusers), ``scheduler_config`` (settings
            that replace its own), ``rewrites`` (False: prompts are not rewritten inside the
            pipeline), ``call`` (further arguments of the pipeline's ``__call__``),
            ``parts`` (name of a part -> folder, hub id, or owner/name:FILE.safetensors with that
            part), ``changes`` (safetensors file whose tensors replace those of the same names),
            ``lora`` (source and scale of weights that are added) and ``cpu_offload``.

    Raises:
        ModelLoadError: the weights are absent, gated, damaged or not safetensors.
        ConfigurationError: no such device, dtype or scheduler, or code that was not allowed.
        OutOfDeviceMemoryError: the pipeline does not fit into memory.
    """
    if not options.source:
        raise ConfigurationError(
            "--t2i-model: expected a hub id or a folder of a diffusers pipeline, got none"
        )
    lora = lora_file(options)
    device = pick_device(options.device)
    folder = pipeline_folder(options)
    parts = parts_elsewhere(folder, options)
    dtype = pick_dtype(options.dtype, device, half_of(folder, parts, device))
    check_processor(device, dtype)
    with ThreadPoolExecutor(1, "t2i-digest") as pool:
        # Files are hashed while they are loaded: hashing lets other threads run.
        weights = pool.submit(_weights, folder, parts, options)
        by_part = pool.submit(part_digests, folder, parts)
        pipeline = load_pipeline(folder, parts, options, dtype, device, lora)
        settle(pipeline, device)
    facts = weights.result() | _facts(pipeline, options, device, dtype, lora)
    return DiffusersModel(pipeline, device, options, facts, by_part.result())


def model_in_memory(pipeline: Any, options: LoadOptions, fingerprint: str) -> DiffusersModel:
    """A model from a pipeline that is loaded already; the pipeline is not changed.

    ``fingerprint`` identifies the weights.
    """
    device, dtype = torch.device(pipeline.device), pipeline.dtype
    facts = {"weights": fingerprint} | _facts(pipeline, options, device, dtype)
    return DiffusersModel(pipeline, device, options, facts)


def _weights(folder: Path, parts: Parts, options: LoadOptions) -> dict[str, str]:
    """Facts that identify the weights; they do not depend on the folders of the parts."""
    commit = hub_commit(folder)
    if not commit:
        facts = {"weights": f"sha256:{pipeline_digest(folder, parts)}"}
    else:
        facts = {"weights": f"{options.source}@{commit}"}
        facts |= {f"part {name}": f"sha256:{folder_digest(at)}" for name, at in parts.items()}
    if changes := options.extra.get("changes"):
        facts["changes"] = f"sha256:{file_digest(Path(changes).expanduser())}"
    return facts


def _facts(
    pipeline: Any,
    options: LoadOptions,
    device: torch.device,
    dtype: torch.dtype,
    lora: Path | None = None,
) -> dict[str, str]:
    """Facts besides the weights that change the pictures."""
    # Combined pipelines have the schedulers of their parts.
    part: Any = getattr(pipeline, "scheduler", None)
    scheduler = {k: v for k, v in getattr(part, "config", {}).items() if not k.startswith("_")}
    defaults = {k: v for k, v in asdict(options.defaults).items() if v is not None}
    extra = {k: options.extra[k] for k in ("variant", "call") if options.extra.get(k)}
    if lora is not None:
        extra[LORA] = f"sha256:{file_digest(lora)} times {options.extra[LORA]['scale']:g}"
    return {
        "pipeline": type(pipeline).__name__,
        "scheduler": type(part).__name__,
        "scheduler_config": f"sha256:{digest(_plain(scheduler))}",
        "dtype": dtype_name(dtype),
        "device": device.type,
        "defaults": ", ".join(f"{k}={v}" for k, v in sorted(defaults.items())),
        "extra": ", ".join(f"{k}={v}" for k, v in sorted(extra.items())),
        "torch": torch.__version__.partition("+")[0],
        "diffusers": diffusers.__version__,
        "transformers": transformers.__version__,
        **_rewriting(pipeline, options),
        **module_facts(pipeline),
    }


def _rewriting(pipeline: Any, options: LoadOptions) -> dict[str, str]:
    """The fact that a pipeline's own rewriting of prompts is switched off."""
    stage = Calls(pipeline, None, {}).rewriting
    return (
        {"rewriting": "off"}
        if stage is not None and not options.extra.get("rewrites", True)
        else {}
    )


def _plain(config: Mapping[str, Any]) -> dict[str, str]:
    return {key: repr(value) for key, value in config.items()}


@dataclass(slots=True)
class _LastLatent:
    """A callback_on_step_end that stores the latents of the last step."""

    value: torch.Tensor | None = None

    def __call__(
        self, pipeline: Any, step: int, timestep: Any, tensors: dict[str, Any]
    ) -> dict[str, Any]:
        del pipeline, step, timestep
        self.value = tensors["latents"]
        return {}


@dataclass(slots=True)
class _Rewritten:
    """The rewriting of prompts inside a pipeline, made repeatable."""

    calls: Calls
    device: torch.device
    texts: list[str] | None = None
    """Prompts that were written in place of the last ones; None where the pipeline says them."""

    @contextmanager
    def drawing(self, seed: int, device: torch.device) -> Iterator[None]:
        """Draw from the picture's seed what the libraries draw from torch's own state."""
        if not self.calls.makes_one:
            yield
            return
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(seed)
            yield

    def prompts(self, prompts: list[str], call: dict[str, Any]) -> list[str]:
        """The prompts to draw: rewritten here where the pipeline would not say the new ones."""
        rewrite = getattr(self.calls.pipeline, "rewire_prompt", None)
        self.texts = None
        if rewrite is None or not self.calls.is_rewriting:
            return prompts
        call["enable_prompt_rewrite"] = False
        self.texts = [str(text) for text in rewrite(prompts, self.device)]
        return self.texts


class DiffusersModel:
    """A TextToImage and TextEmbedding with a loaded pipeline."""

    def __init__(
        self,
        pipeline: Any,
        device: torch.device,
        options: LoadOptions,
        facts: dict[str, str],
        parts: Mapping[str, str] = EMPTY,
    ) -> None:
        self.pipeline = pipeline
        """The diffusers pipeline, for engines and audits that need it."""
        self.device = device
        self._options = options
        self._facts = facts
        self._parts = parts
        """Digest of each part, which is no part of the fingerprint: that has all weights."""
        self._family = family_of(pipeline)
        self._calls = Calls(
            pipeline,
            self._family,
            options.extra.get("call", {}),
            options.extra.get("rewrites", True),
        )
        self._rewritten = _Rewritten(self._calls, device)
        # The guidance of HunyuanImage is a part of its own, and another one for quoted texts.
        self._guiders: dict[str, Any] = {
            name: part for name in GUIDERS if (part := getattr(pipeline, name, None)) is not None
        }
        self._texts = (
            TextBank(pipeline, self._family, device, self._calls.further) if self._family else None
        )

    def lanes(self, most: int) -> list[DiffusersModel]:
        """One model for each thread, with shared weights and its own scheduler.

        A GPU makes one batch at a time, beside a thread that stores and detects; on a single core
        nothing runs in parallel. Of other classes than the four families it is not known that two
        threads may use one pipeline: some autoencoders keep what they have seen.
        """
        if self.device.type != "cpu" or self._family is None:
            return [self]
        return [self, *(self._twin() for _ in range(most - 1))] if most > 1 else []

    def needs_all(self, request: Request) -> bool:
        """Whether the request observes the network, which other lanes share."""
        return not request.observe <= {TEXT_EMBEDDING, FINAL_LATENT}

    @property
    def may_ignore_settings(self) -> bool:
        return self._family is None

    def other_guidance(self, settings: GenerationSettings) -> GenerationSettings | None:
        """The settings with another guidance; None where the class takes none or is distilled."""
        scale = self.resolve(settings).guidance
        if not self._calls.takes_guidance or scale == 0.0:
            return None
        return replace(settings, guidance=9.0 if scale is None or scale < 6.0 else 2.0)  # noqa: PLR2004

    def notes(self, settings: GenerationSettings) -> tuple[str, ...]:
        """Number format, rewriting, and that the class takes no guidance."""
        stage, name = self._calls.rewriting, type(self.pipeline).__name__
        notes: list[str] = []
        if self._family is None and self.device.type != "cpu":
            notes.append(f"{name} runs in {self._facts['dtype']}")
        if stage is not None and self._calls.is_rewriting:
            notes.append(f"{stage.words} (off by: rewrites = false in a catalogue)")
        if not self._calls.takes_guidance and self.resolve(settings).guidance is None:
            notes.append(f"{name} takes no guidance")
        return tuple(notes)

    def measured(self) -> AbstractContextManager[DeviceMemory]:
        """A context that measures the memory that work of detectors needs on the device."""
        return device_memory(self.device)

    def beside(self) -> AbstractContextManager[None]:
        """A context for work of detectors beside a batch of pictures."""
        return own_stream(self.device)

    def stop(self) -> None:
        """Stop another thread's batch after its present step."""
        self.pipeline._interrupt = True  # noqa: SLF001 - diffusers has no public way

    def _twin(self) -> DiffusersModel:
        pipeline = copy(self.pipeline)
        pipeline.scheduler = deepcopy(self.pipeline.scheduler)
        twin = DiffusersModel(pipeline, self.device, self._options, self._facts, self._parts)
        twin._texts = self._texts
        return twin

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the weights, pipeline class, scheduler, dtype, device type and libraries."""
        return digest(self._facts)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, the source of the weights, and the device."""
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"
        facts = {key: value for key, value in self._facts.items() if value}
        if self._calls.is_rewriting and (stage := self._calls.rewriting) is not None:
            facts["rewriting"] = stage.words
        return {
            "source": self._options.source,
            **self._parts,
            **facts,
            **self._scheduler_values(),
            "device_name": name,
        }

    def _scheduler_values(self) -> dict[str, str]:
        """The scheduler's settings as JSON, from which it can be made again without its folder."""
        config = getattr(getattr(self.pipeline, "scheduler", None), "config", {})
        plain = {name: value for name, value in config.items() if not name.startswith("_")}
        try:
            return {"scheduler_values": json.dumps(plain, sort_keys=True)} if plain else {}
        except TypeError:  # a setting that is no plain value
            return {}

    def resolve(self, settings: GenerationSettings) -> GenerationSettings:
        """The settings, with open ones filled in from the catalogue's defaults."""
        choices = {f.name: getattr(settings, f.name) for f in fields(settings)}
        return replace(
            self._options.defaults, **{name: v for name, v in choices.items() if v is not None}
        )

    def embed_text(self, prompts: Sequence[str]) -> list[np.ndarray]:
        """Text encoder output per prompt, each [n_tokens, d] float32 without padding tokens."""
        if self._texts is None:
            raise ConfigurationError(
                f"text embeddings of a {type(self.pipeline).__name__} cannot be observed: choose a "
                "model of another pipeline class, or deselect these tests with -k."
            )
        with memory_guard("encoding text"):
            return [self._texts.embedding(prompt) for prompt in prompts]

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """Make one picture per request, in order.

        Requests are grouped by settings; requests that observe velocities form their own groups,
        as only they need extra passes.
        """
        pictures: dict[int, Generated] = {}
        for (settings, *_), places in alike(requests).items():
            for batch in self._batches(requests, places):
                group = [requests[place] for place in batch]
                pictures.update(zip(batch, self._make(group, self.resolve(settings)), strict=True))
        return [pictures[place] for place in range(len(requests))]

    def _batches(self, requests: Sequence[Request], places: Sequence[int]) -> list[list[int]]:
        """Places of requests that are made together.

        Many classes (CogView 4, Kandinsky 5, OmniGen, Qwen-Image 2.1) attend to the padding of a
        prompt, which is as long as the longest prompt of the batch: a batch of another class than
        the four families has one prompt.
        """
        if self._calls.makes_one:
            return [[place] for place in places]
        if self._family is not None:
            return [[*places]]
        by_prompt: dict[str, list[int]] = {}
        for place in places:
            by_prompt.setdefault(requests[place].prompt, []).append(place)
        return list(by_prompt.values())

    def _make(self, group: Sequence[Request], settings: GenerationSettings) -> Iterator[Generated]:
        call = self._calls.arguments(settings)
        # A batch of one picture uses other convolution kernels than a larger batch.
        alone = len(group) == 1 and self.device.type == "cpu" and not self._calls.doubles(call)
        alone = alone and not self._calls.makes_one
        batch = list(group) * 2 if alone else list(group)
        last = _LastLatent()
        names = {name for request in group for name in request.observe}
        if FINAL_LATENT in names:
            self._calls.require("callback_on_step_end", "the final latent cannot be observed")
            call["callback_on_step_end"] = last
        watch = self._watch(group, len(batch), names)
        looking = watch.looking() if watch else nullcontext()
        tokens: list[int] = []
        if ATTENTION in names and self._family is not None:
            tokens = word_tokens(self.pipeline, self._family, [r.prompt for r in batch])
        attended = self.pipeline if ATTENTION in names else None
        with observed(attended, len(batch), tokens) as sums, looking:
            output = self._run(batch, settings, call)
        images = pictures_of(output)
        self._check_size(images[0].size, settings)
        texts = self._revised_prompts(output, batch)
        maps = self._word_maps(sums, batch, images[0].size)
        latents = self._unpacked(last.value, settings)
        flags = getattr(output, "nsfw_content_detected", None) or [False] * len(batch)
        for place, request in enumerate(group):
            trace = Trace(
                text_embedding=self._embedding_for(request),
                final_latent=None
                if latents is None or FINAL_LATENT not in request.observe
                else latents[place].float().cpu().numpy(),
                attention=maps[place] if maps and ATTENTION in request.observe else None,
                **(self._seen(watch, request, place, settings) if watch else {}),
            )
            refusal = "the safety checker blackened the picture" if flags[place] else None
            yield Generated(images[place].convert("RGB"), trace, refusal, texts[place])

    def _check_size(self, size: tuple[int, int], settings: GenerationSettings) -> None:
        """Refuse a size that the class changes without a word, as Kandinsky 5 and HiDream do."""
        target = (settings.width or size[0], settings.height or size[1])
        if self._family is None and size != target:
            raise ConfigurationError(
                f"{type(self.pipeline).__name__} makes {size[0]} x {size[1]} pixels in place of "
                f"{target[0]} x {target[1]}. Set that size, or leave it out."
            )

    def _revised_prompts(self, output: Any, batch: Sequence[Request]) -> list[str | None]:
        texts = getattr(output, "revised_prompts", None) or self._rewritten.texts
        return [*texts] if texts and len(texts) == len(batch) else [None] * len(batch)

    def _word_maps(
        self, sums: Sums | None, batch: Sequence[Request], size: tuple[int, int]
    ) -> list[np.ndarray]:
        """Attention maps of each prompt's words; [] where none were requested or available."""
        if sums is None or not sums.by_map or self._family is None:
            return []
        prompts = [request.prompt for request in batch]
        return word_maps(sums, self.pipeline, self._family, prompts, size)

    def _watch(
        self, group: Sequence[Request], images: int, observed: set[str]
    ) -> VelocityWatch | None:
        """A watch on the velocities of the batch; None where none are requested."""
        if not observed & WATCHED:
            return None
        if self._texts is None:
            raise ConfigurationError(
                f"velocities of a {type(self.pipeline).__name__} cannot be observed: choose a "
                "model of another pipeline class, or deselect these tests with -k."
            )
        kind_of(self.pipeline)
        return VelocityWatch(
            self.pipeline,
            self._texts,
            images,
            group[0].attributes if VELOCITY in observed else (),
            FORESEEN in observed,
            ALL_VELOCITIES in observed,
        )

    def _seen(
        self, watch: VelocityWatch, request: Request, place: int, settings: GenerationSettings
    ) -> dict[str, Any]:
        """The observations on one image, as fields of its trace."""
        observations: dict[str, Any] = {}
        if VELOCITY in request.observe:
            observations["spi"] = {spi_name(a): watch.spi(a, place) for a in request.attributes}
        if ALL_VELOCITIES in request.observe:
            observations["velocities"] = watch.stacked("velocities", place).numpy()
        if FORESEEN in request.observe:
            latents = self._unpacked(watch.stacked("foreseen", place), settings)
            observations["foreseen"] = tuple(decoded(self.pipeline, latents))
        return observations

    def _embedding_for(self, request: Request) -> np.ndarray | None:
        return self.embed_text([request.prompt])[0] if TEXT_EMBEDDING in request.observe else None

    def _run(self, batch: list[Request], settings: GenerationSettings, call: dict[str, Any]) -> Any:
        generators: Any = [torch.Generator("cpu").manual_seed(request.seed) for request in batch]
        if self._calls.makes_one:
            (generators,) = generators
        prompts = [request.prompt for request in batch]
        for name, guider in self._guiders.items():
            scale: dict[str, Any] = {}
            if settings.guidance is not None:
                scale["guidance_scale"] = settings.guidance
                if is_switched_off(guider):
                    scale["enabled"] = True
            setattr(self.pipeline, name, guider.new(**scale))
        try:
            with (
                memory_guard(f"making {len(batch)} pictures"),
                torch.no_grad(),
                self._rewritten.drawing(batch[0].seed, self.device),
            ):
                negative = self._calls.negative(call, settings.negative_prompt)
                text = self._text_arguments(self._rewritten.prompts(prompts, call), negative)
                # Pictures of the four families leave the device as bytes, in one copy.
                kind = "pil" if self._family is None else "pt"
                run = (
                    partial(run_blocks, self.pipeline)
                    if is_modular(self.pipeline)
                    else self.pipeline
                )
                return run(**call, **text, generator=generators, output_type=kind)
        except T2IError:
            raise
        except ValueError as error:
            raise ConfigurationError(
                f"{type(self.pipeline).__name__} does not accept these settings: {error}"
            ) from error
        except Exception as error:
            raise GenerationError(
                f"{type(self.pipeline).__name__} failed on a batch of {len(batch)} "
                f"(first prompt {prompts[0]!r}): {type(error).__name__}: {error}"
            ) from error
        finally:
            for name, guider in self._guiders.items():
                setattr(self.pipeline, name, guider)

    def _text_arguments(self, prompts: list[str], negative: str | None) -> dict[str, Any]:
        if self._texts is not None:
            return {**self._texts.arguments(prompts, negative)}
        if self._calls.makes_one:  # DreamLite and FLUX.3 take no list
            (prompt,) = prompts
            return {"prompt": prompt, **({} if negative is None else {"negative_prompt": negative})}
        unwanted = {} if negative is None else {"negative_prompt": [negative] * len(prompts)}
        return {"prompt": prompts, **unwanted}

    def _unpacked(
        self, latents: torch.Tensor | None, settings: GenerationSettings
    ) -> torch.Tensor | None:
        """Latents as [batch, channels, height, width]; FLUX has a sequence of 2 x 2 patches.

        Classes that keep their latents in another way (Krea 2, NucleusMoE, FIBO) give them as they
        are.
        """
        if latents is None or latents.ndim == len("bchw") or not self._is_packed_as_flux:
            return latents
        scale = self.pipeline.vae_scale_factor
        default = self.pipeline.default_sample_size * scale
        width, height = settings.width or default, settings.height or default
        try:
            unpacked: torch.Tensor = self.pipeline._unpack_latents(latents, height, width, scale)  # noqa: SLF001
        except RuntimeError:  # FIBO has the function and does not pack
            return latents
        return unpacked

    @property
    def _is_packed_as_flux(self) -> bool:
        """Whether the class packs latents as FLUX does, with the same arguments."""
        unpack = getattr(self.pipeline, "_unpack_latents", None)
        if unpack is None or not hasattr(self.pipeline, "default_sample_size"):
            return False
        return "vae_scale_factor" in [*inspect.signature(unpack).parameters][3:4]
