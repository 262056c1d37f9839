"""Any diffusers text-to-image pipeline as the model under test.

Image k depends on request k alone: it has its own noise generator on the CPU, its text is encoded
separately, and on the CPU the arithmetic is arranged so that the rows of a batch do not influence
each other (see ``pipelines.settle``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy, deepcopy
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.models.attention import Sums, observed, word_maps
from pytest_t2i.adapters.models.model_index import read_index
from pytest_t2i.adapters.models.pipelines import (
    Calls,
    Parts,
    check_processor,
    load_pipeline,
    parts_elsewhere,
    pipeline_digest,
    pipeline_folder,
    settle,
)
from pytest_t2i.adapters.models.prompt_embeddings import TextBank, family_of
from pytest_t2i.adapters.models.velocity import WATCHED, VelocityWatch, alike, decoded, kind_of
from pytest_t2i.adapters.support.devices import dtype_name, memory_guard, pick_device, pick_dtype
from pytest_t2i.adapters.support.digests import file_digest, folder_digest
from pytest_t2i.adapters.support.loading import hub_commit, needs
from pytest_t2i.data import (
    ALL_VELOCITIES,
    ATTENTION,
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
            such as "fp16"), ``scheduler`` (class name in diffusers), ``call`` (further arguments
            of the pipeline's ``__call__``), ``parts`` (name of a part -> folder or hub id with
            that part), ``changes`` (safetensors file whose tensors replace those of the same
            names) and ``cpu_offload``.

    Raises:
        ModelLoadError: the weights are absent, gated, damaged or not safetensors.
        ConfigurationError: no such device, dtype or scheduler, or code that was not allowed.
        OutOfDeviceMemoryError: the pipeline does not fit into memory.
    """
    if not options.source:
        raise ConfigurationError(
            "--t2i-model: expected a hub id or a folder of a diffusers pipeline, got none"
        )
    device = pick_device(options.device)
    folder = pipeline_folder(options)
    parts = parts_elsewhere(folder, options)
    dtype = pick_dtype(options.dtype, device, _half(folder))
    check_processor(device, dtype)
    pipeline = load_pipeline(folder, parts, options, dtype, device)
    settle(pipeline, device)
    facts = _weights(folder, parts, options) | _facts(pipeline, options, device, dtype)
    return DiffusersModel(pipeline, device, options, facts)


def model_in_memory(pipeline: Any, options: LoadOptions, fingerprint: str) -> DiffusersModel:
    """A model from a pipeline that is loaded already; the pipeline is not changed.

    ``fingerprint`` identifies the weights.
    """
    device, dtype = torch.device(pipeline.device), pipeline.dtype
    facts = {"weights": fingerprint} | _facts(pipeline, options, device, dtype)
    return DiffusersModel(pipeline, device, options, facts)


def _half(folder: Path) -> torch.dtype:
    # FLUX was trained in bfloat16, and its T5 encoder overflows in float16.
    name = str(read_index(folder)["_class_name"])
    return torch.bfloat16 if name.startswith("Flux") else torch.float16


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
    pipeline: Any, options: LoadOptions, device: torch.device, dtype: torch.dtype
) -> dict[str, str]:
    """Facts besides the weights that change the pictures."""
    scheduler = {k: v for k, v in pipeline.scheduler.config.items() if not k.startswith("_")}
    defaults = {k: v for k, v in asdict(options.defaults).items() if v is not None}
    extra = {k: options.extra[k] for k in ("variant", "call") if options.extra.get(k)}
    return {
        "pipeline": type(pipeline).__name__,
        "scheduler": type(pipeline.scheduler).__name__,
        "scheduler_config": f"sha256:{digest(_plain(scheduler))}",
        "dtype": dtype_name(dtype),
        "device": device.type,
        "defaults": ", ".join(f"{k}={v}" for k, v in sorted(defaults.items())),
        "extra": ", ".join(f"{k}={v}" for k, v in sorted(extra.items())),
        "torch": torch.__version__.partition("+")[0],
        "diffusers": diffusers.__version__,
        "transformers": transformers.__version__,
    }


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


class DiffusersModel:
    """A TextToImage and TextEmbedding with a loaded pipeline."""

    def __init__(
        self, pipeline: Any, device: torch.device, options: LoadOptions, facts: dict[str, str]
    ) -> None:
        self.pipeline = pipeline
        """The diffusers pipeline, for engines and audits that need it."""
        self.device = device
        self._options = options
        self._facts = facts
        self._family = family_of(pipeline)
        self._calls = Calls(pipeline, self._family, options.extra.get("call", {}))
        self._texts = (
            TextBank(pipeline, self._family, device, self._calls.further) if self._family else None
        )

    def lanes(self, most: int) -> list[DiffusersModel]:
        """One model for each thread, with shared weights and its own scheduler.

        A GPU makes one batch at a time, beside a thread that stores and detects; on a single core
        nothing runs in parallel.
        """
        if self.device.type != "cpu":
            return [self]
        return [self, *(self._twin() for _ in range(most - 1))] if most > 1 else []

    def needs_all(self, request: Request) -> bool:
        """Whether the request observes the network, which other lanes share."""
        return not request.observe <= {TEXT_EMBEDDING, FINAL_LATENT}

    def stop(self) -> None:
        """Stop another thread's batch after its present step."""
        self.pipeline._interrupt = True  # noqa: SLF001 - diffusers has no public way

    def _twin(self) -> DiffusersModel:
        pipeline = copy(self.pipeline)
        pipeline.scheduler = deepcopy(self.pipeline.scheduler)
        twin = DiffusersModel(pipeline, self.device, self._options, self._facts)
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
        return {"source": self._options.source, **facts, "device_name": name}

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
            group = [requests[place] for place in places]
            pictures.update(zip(places, self._make(group, self.resolve(settings)), strict=True))
        return [pictures[place] for place in range(len(requests))]

    def _make(self, group: Sequence[Request], settings: GenerationSettings) -> Iterator[Generated]:
        call = self._calls.arguments(settings)
        # A batch of one picture uses other convolution kernels than a larger batch.
        alone = len(group) == 1 and self.device.type == "cpu" and not self._calls.doubles(call)
        batch = list(group) * 2 if alone else list(group)
        last = _LastLatent()
        names = {name for request in group for name in request.observe}
        if FINAL_LATENT in names:
            self._calls.require("callback_on_step_end", "the final latent cannot be observed")
            call["callback_on_step_end"] = last
        watch = self._watch(group, len(batch), names)
        looking = watch.looking() if watch else nullcontext()
        with observed(self.pipeline if ATTENTION in names else None, len(batch)) as sums, looking:
            output = self._run(batch, settings, call)
        maps = self._word_maps(sums, batch, output.images[0].size)
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
            yield Generated(output.images[place].convert("RGB"), trace, refusal)

    def _word_maps(
        self, sums: Sums | None, batch: Sequence[Request], size: tuple[int, int]
    ) -> list[np.ndarray]:
        """Attention maps of each prompt's words; [] where none were requested or available."""
        if sums is None or not sums.by_size or self._family is None:
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
        generators = [torch.Generator("cpu").manual_seed(request.seed) for request in batch]
        prompts = [request.prompt for request in batch]
        try:
            with memory_guard(f"making {len(batch)} pictures"), torch.no_grad():
                text = self._text_arguments(prompts, settings.negative_prompt)
                return self.pipeline(**call, **text, generator=generators, output_type="pil")
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

    def _text_arguments(self, prompts: list[str], negative: str | None) -> dict[str, Any]:
        if self._texts is not None:
            return {**self._texts.arguments(prompts, negative)}
        unwanted = {} if negative is None else {"negative_prompt": [negative] * len(prompts)}
        return {"prompt": prompts, **unwanted}

    def _unpacked(
        self, latents: torch.Tensor | None, settings: GenerationSettings
    ) -> torch.Tensor | None:
        """Latents as [batch, channels, height, width]; FLUX has a sequence of 2 x 2 patches."""
        is_packed = hasattr(self.pipeline, "_unpack_latents")
        if latents is None or latents.ndim == len("bchw") or not is_packed:
            return latents
        scale = self.pipeline.vae_scale_factor
        default = self.pipeline.default_sample_size * scale
        unpacked: torch.Tensor = self.pipeline._unpack_latents(  # noqa: SLF001
            latents, settings.height or default, settings.width or default, scale
        )
        return unpacked
